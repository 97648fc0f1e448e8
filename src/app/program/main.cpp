#include "espalier/app/app.hpp"

int main(int argc, char** argv) { return espalier::app::run(argc, argv); }
