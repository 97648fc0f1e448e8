#include "espalier/model/evaluate.hpp"
#include <gtest/gtest.h>
