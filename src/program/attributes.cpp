#include "espalier/program/attributes.hpp"

#include <algorithm>

namespace espalier::program {

Attributes Attributes::with(AttributeName name, std::vector<double> values) const {
    auto out = *this;
    auto const at = std::ranges::lower_bound(out.items_, name, {}, &Attribute::name);
    if (at != out.items_.end() && at->name == name)
        at->values = std::move(values);
    else
        out.items_.insert(at, {name, std::move(values)});
    return out;
}

Attribute const* Attributes::find(AttributeName name) const {
    auto const at = std::ranges::find(items_, name, &Attribute::name);
    return at == items_.end() ? nullptr : &*at;
}

double Attributes::get(AttributeName name, double otherwise) const {
    auto const* found = find(name);
    return found && !found->values.empty() ? found->values.front() : otherwise;
}

} // namespace espalier::program
