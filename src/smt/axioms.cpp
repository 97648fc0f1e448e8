#include "axioms.hpp"

namespace espalier::smt {

// Subexpressions of the targets are found from the targets down. This says the same as a relation between any two
// expressions that is transitive, but transitivity costs Z3 most of its steps.
std::string_view arithmetic_axioms() {
    return R"(
(declare-sort E 0)
(declare-sort S 0)
(declare-fun add (E E) E)
(declare-fun mul (E E) E)
(declare-fun div (E E) E)
(declare-fun sum (S E) E)
(declare-fun part (E) Bool)
(assert (forall ((x E) (y E)) (= (add x y) (add y x))))
(assert (forall ((x E) (y E)) (= (mul x y) (mul y x))))
(assert (forall ((x E) (y E) (z E)) (= (add x (add y z)) (add (add x y) z))))
(assert (forall ((x E) (y E) (z E)) (= (mul x (mul y z)) (mul (mul x y) z))))
(assert (forall ((x E) (y E) (z E)) (= (add (mul x z) (mul y z)) (mul (add x y) z))))
(assert (forall ((x E) (y E) (z E)) (= (add (div x z) (div y z)) (div (add x y) z))))
(assert (forall ((x E) (y E) (z E)) (= (mul x (div y z)) (div (mul x y) z))))
(assert (forall ((x E) (y E) (z E)) (= (div (div x y) z) (div x (mul y z)))))
(assert (forall ((x E) (y E)) (=> (part (add x y)) (and (part x) (part y)))))
(assert (forall ((x E) (y E)) (=> (part (mul x y)) (and (part x) (part y)))))
(assert (forall ((x E) (y E)) (=> (part (div x y)) (and (part x) (part y)))))
)";
}

std::string_view sum_axioms() {
    return R"(
(assert (forall ((i S) (x E) (y E)) (= (sum i (add x y)) (add (sum i x) (sum i y)))))
(assert (forall ((i S) (x E) (y E)) (= (sum i (mul x y)) (mul (sum i x) y))))
(assert (forall ((i S) (x E) (y E)) (= (sum i (div x y)) (div (sum i x) y))))
(assert (forall ((i S) (j S) (x E)) (= (sum i (sum j x)) (sum j (sum i x)))))
(assert (forall ((i S) (x E)) (=> (part (sum i x)) (part x))))
)";
}

std::string_view exponential_axiom() {
    return "(assert (forall ((x E) (y E)) (= (mul (exponential x) (exponential y)) (exponential (add x y)))))\n";
}

std::string_view root_axiom() {
    return "(assert (forall ((x E) (y E)) (= (mul (root x) (root y)) (root (mul x y)))))\n";
}

} // namespace espalier::smt
