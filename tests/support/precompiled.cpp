/// Nothing: it is compiled for the headers that tests/CMakeLists.txt gives it, which all tests use then.
