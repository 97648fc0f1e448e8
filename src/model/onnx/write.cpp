#include "espalier/base/error.hpp"
#include "espalier/model/onnx.hpp"

#include "attributes.hpp"
#include "graphs.hpp"
#include "onnx_file.hpp"
#include "tensors.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <limits>

namespace espalier::model {
namespace {

template <class T>
using Repeated = google::protobuf::RepeatedPtrField<T>;

/// What is taken of a list that is written again.
template <class T>
Repeated<T> taken(Repeated<T>* list) {
    Repeated<T> all;
    all.Swap(list);
    return all;
}

bool is_same(Node const& a, Node const& b) {
    return a.op == b.op && a.domain == b.domain && a.name == b.name && a.inputs == b.inputs && a.outputs == b.outputs &&
           std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(), b.attributes.end(),
                      [](auto const& x, auto const& y) { return x.first == y.first && is_same(x.second, y.second); });
}

bool is_untouched(Model const& model, Model const& as_read) {
    auto const is_same_node = [](Node const& a, Node const& b) { return a.origin == b.origin && is_same(a, b); };
    return model.name == as_read.name && model.inputs == as_read.inputs && model.outputs == as_read.outputs &&
           model.constants == as_read.constants && model.defaults == as_read.defaults &&
           model.unread == as_read.unread && model.types == as_read.types && model.opsets == as_read.opsets &&
           std::equal(model.nodes.begin(), model.nodes.end(), as_read.nodes.begin(), as_read.nodes.end(), is_same_node);
}

/// Writes the graph of a model over the one that it was read from.
class GraphWriter {
public:
    GraphWriter(Model const& model, pb::ModelProto& proto)
        : model_(model), tensors_(model.constants), file_(model.file.get()), proto_(proto),
          graph_(*proto.mutable_graph()) {
        for (auto const& value : model.inputs) inputs_.insert(value.name);
        keep_tensors_of_elsewhere();
        if (file_ != nullptr)
            for (auto const& node : file_->as_read.nodes) originals_.emplace(*node.origin, &node);
        collect_uses();
    }

    void write() {
        if (graph_.name() != model_.name) graph_.set_name(model_.name);
        write_opsets();
        write_nodes();
        write_initializers();
        write_sparse();
        check_uses();
        write_inputs();
        write_outputs();
        write_types();
        drop_annotations();
    }

private:
    [[nodiscard]] bool is_used(std::string const& name) const { return uses_.contains(name); }
    [[nodiscard]] bool lists_constants() const { return proto_.ir_version() < first_ir_with_defaults; }

    /// Whoever changes the graph need not know what training and quantization use.
    void keep_tensors_of_elsewhere() {
        if (file_ == nullptr) return;
        std::set<std::string> made;
        for (auto const& node : model_.nodes) made.insert(node.outputs.begin(), node.outputs.end());
        for (auto const& name : file_->names_elsewhere)
            if (auto const found = file_->as_read.constants.find(name);
                found != file_->as_read.constants.end() && !made.contains(name) && !inputs_.contains(name))
                tensors_.emplace(*found);
    }
    void collect_uses() {
        for (auto const& value : model_.outputs)
            uses_.emplace(value.name, fmt::format("output {}", quoted(value.name)));
        for (auto const& node : model_.nodes) {
            for (auto const& name : node.inputs) uses_.emplace(name, place_of(node));
            for (auto const& name : node.captured) uses_.emplace(name, place_of(node));
        }
        uses_.erase(std::string{});
        if (file_ == nullptr) return;
        // The rest of the file may speak of values that are gone: those are no errors.
        for (auto const& name : file_->names_elsewhere) uses_.emplace(name, std::string{});
    }
    void check_uses() const {
        for (auto const& [name, place] : uses_)
            if (!place.empty() && !made_.contains(name) && !inputs_.contains(name))
                throw base::InputError("{}: it uses {}, which nothing makes", place, quoted(name));
    }
    void make(std::string const& name) {
        if (name.empty()) return;
        if (!made_.insert(name).second || inputs_.contains(name))
            throw base::InputError("value {}: it is made twice", quoted(name));
    }

    void write_opsets() {
        std::set<std::string> written;
        for (auto& entry : *proto_.mutable_opset_import()) {
            auto const domain = domain_of(entry.domain());
            written.insert(domain);
            auto const found = model_.opsets.find(domain);
            if (found != model_.opsets.end() && entry.version() != found->second) entry.set_version(found->second);
        }
        if (written.empty() && file_ != nullptr && model_.opsets == file_->as_read.opsets) return;
        for (auto const& [domain, version] : model_.opsets) {
            if (written.contains(domain)) continue;
            auto& entry = *proto_.add_opset_import();
            entry.set_domain(domain);
            entry.set_version(version);
        }
    }

    /// Nodes of the model, and before each those constants of the file that stood there.
    struct Entry {
        Node const* node = nullptr; ///< or
        ConstantNode const* constant = nullptr;
    };
    [[nodiscard]] std::vector<Entry> entries() const {
        std::vector<ConstantNode const*> constants;
        if (file_ != nullptr)
            for (auto const& constant : file_->constant_nodes)
                if (is_kept(constant)) constants.push_back(&constant);
        std::vector<Entry> entries;
        auto next = constants.begin();
        for (auto const& node : model_.nodes) {
            for (; next != constants.end() && node.origin && (*next)->index < *node.origin; ++next)
                entries.push_back({.constant = *next});
            entries.push_back({.node = &node});
        }
        for (; next != constants.end(); ++next) entries.push_back({.constant = *next});
        return entries;
    }
    [[nodiscard]] bool is_kept(ConstantNode const& constant) const {
        return is_used(constant.name) && is_as_read(constant.name);
    }
    [[nodiscard]] bool is_as_read(std::string const& name) const {
        auto const found = tensors_.find(name);
        auto const before = file_->as_read.constants.find(name);
        return found != tensors_.end() && before != file_->as_read.constants.end() && found->second == before->second;
    }

    void write_nodes() {
        auto const old = taken(graph_.mutable_node());
        auto const all = entries();
        for (auto const i : order_of(all)) {
            if (auto const* constant = all[i].constant) {
                *graph_.add_node() = old.Get(static_cast<int>(constant->index));
                make(constant->name);
                constants_.insert(constant->name);
            } else {
                *graph_.add_node() = proto_of(*all[i].node, old);
                for (auto const& name : all[i].node->outputs) make(name);
            }
        }
    }
    [[nodiscard]] static std::vector<std::size_t> order_of(std::vector<Entry> const& entries) {
        std::map<std::string, std::size_t> makers;
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (entries[i].constant != nullptr) makers[entries[i].constant->name] = i;
            if (entries[i].node != nullptr)
                for (auto const& name : entries[i].node->outputs) makers[name] = i;
        }
        makers.erase(std::string{});
        std::vector<std::vector<std::size_t>> needs(entries.size());
        auto const need = [&](std::size_t i, std::vector<std::string> const& names) {
            for (auto const& name : names)
                if (auto const found = makers.find(name); found != makers.end()) needs[i].push_back(found->second);
        };
        for (std::size_t i = 0; i < entries.size(); ++i)
            if (entries[i].node != nullptr) need(i, entries[i].node->inputs), need(i, entries[i].node->captured);
        auto order = in_order(needs);
        if (!order.cyclic) return std::move(order.places);
        throw base::InputError("{}: it needs its own result", place_of(*entries[*order.cyclic].node));
    }

    /// A node of the file keeps what the model knows nothing of, and how it writes what is the same.
    [[nodiscard]] pb::NodeProto proto_of(Node const& node, Repeated<pb::NodeProto> const& old) const {
        auto const found = node.origin ? originals_.find(*node.origin) : originals_.end();
        auto const has_origin = found != originals_.end();
        auto proto = has_origin ? old.Get(static_cast<int>(*node.origin)) : pb::NodeProto{};
        Node const none;
        auto const& before = has_origin ? *found->second : none;
        if (node.op != before.op) proto.set_op_type(node.op);
        if (node.domain != before.domain) proto.set_domain(node.domain);
        if (node.name != before.name) proto.set_name(node.name);
        if (node.inputs != before.inputs) put(node.inputs, *proto.mutable_input());
        if (node.outputs != before.outputs) put(node.outputs, *proto.mutable_output());
        put_attributes(node, before, proto);
        return proto;
    }
    static void put(std::vector<std::string> const& names, Repeated<std::string>& list) {
        list.Clear();
        for (auto const& name : names) *list.Add() = name;
    }
    static void put_attributes(Node const& node, Node const& before, pb::NodeProto& proto) {
        auto const is_as_before = [&](std::string const& name) {
            auto const now = node.attributes.find(name);
            auto const then = before.attributes.find(name);
            return now != node.attributes.end() && then != before.attributes.end() &&
                   is_same(now->second, then->second);
        };
        for (auto const& attribute : taken(proto.mutable_attribute()))
            if (is_as_before(attribute.name())) *proto.add_attribute() = attribute;
        for (auto const& [name, value] : node.attributes)
            if (!is_as_before(name)) *proto.add_attribute() = model::proto_of(value, name);
    }

    [[nodiscard]] TensorPtr tensor_called(std::string const& name) const {
        if (auto const found = model_.defaults.find(name); found != model_.defaults.end()) return found->second;
        auto const found = tensors_.find(name);
        return found == tensors_.end() ? nullptr : found->second;
    }
    [[nodiscard]] bool is_tensor_as_read(std::string const& name) const {
        auto const before = file_->as_read.defaults.find(name);
        return is_as_read(name) || (before != file_->as_read.defaults.end() && before->second == tensor_called(name));
    }

    void write_initializers() {
        std::set<std::string> written;
        auto old = taken(graph_.mutable_initializer());
        for (auto& tensor : old) {
            auto const name = tensor.name();
            auto const is_input = inputs_.contains(name);
            auto const is_ours = is_input || ((tensors_.contains(name) || model_.unread.contains(name)) &&
                                              is_used(name) && !constants_.contains(name));
            if (!is_ours) continue;
            if (!is_input) make(name), constants_.insert(name);
            written.insert(name);
            auto const now = tensor_called(name);
            if (now == nullptr || is_tensor_as_read(name))
                graph_.add_initializer()->Swap(&tensor);
            else
                *graph_.add_initializer() = model::proto_of(*now, name);
        }
        for (auto const& [name, tensor] : model_.defaults)
            if (inputs_.contains(name) && !written.contains(name))
                *graph_.add_initializer() = model::proto_of(*tensor, name);
        for (auto const& [name, tensor] : tensors_) {
            if (!is_used(name) || constants_.contains(name)) continue;
            make(name);
            *graph_.add_initializer() = model::proto_of(*tensor, name);
        }
    }
    void write_sparse() {
        for (auto& sparse : taken(graph_.mutable_sparse_initializer())) {
            auto const name = sparse.values().name();
            auto const is_input = inputs_.contains(name);
            if (!is_input && !(model_.unread.contains(name) && is_used(name))) continue;
            if (!is_input) make(name);
            *graph_.add_sparse_initializer() = sparse;
        }
    }

    void write_inputs() {
        std::map<std::string, pb::ValueInfoProto> old;
        std::vector<std::string> listed;
        for (auto& value : taken(graph_.mutable_input())) {
            listed.push_back(value.name());
            old.emplace(value.name(), value);
        }
        auto const is_as_read = file_ != nullptr && model_.inputs == file_->as_read.inputs;
        if (!is_as_read)
            for (auto const& value : model_.inputs) *graph_.add_input() = value_of(value, old);
        std::set<std::string> written;
        if (!is_as_read) written = inputs_;
        std::set<std::string> constants;
        for (auto const& tensor : graph_.initializer()) constants.insert(tensor.name());
        for (auto const& name : listed) {
            auto const stays = inputs_.contains(name) || (lists_constants() && constants.contains(name));
            if (stays && written.insert(name).second) *graph_.add_input() = old.at(name);
        }
        if (!lists_constants()) return;
        for (auto const& tensor : graph_.initializer())
            if (written.insert(tensor.name()).second) *graph_.add_input() = model::proto_of(value_of(tensor));
    }
    [[nodiscard]] static Value value_of(pb::TensorProto const& tensor) {
        Value value{.name = tensor.name(), .type = {.element = element_of(tensor.data_type()), .shape = {{}}}};
        value.type.shape.emplace();
        for (auto const size : tensor.dims()) value.type.shape->push_back({.size = size});
        return value;
    }
    [[nodiscard]] static pb::ValueInfoProto value_of(Value const& value,
                                                     std::map<std::string, pb::ValueInfoProto> const& old) {
        auto const found = old.find(value.name);
        auto const is_as_before = found != old.end() && type_of(found->second.type(), value.name) == value.type;
        return is_as_before ? found->second : model::proto_of(value);
    }

    void write_outputs() {
        std::map<std::string, pb::ValueInfoProto> old;
        for (auto& value : taken(graph_.mutable_output())) old.emplace(value.name(), value);
        for (auto const& value : model_.outputs) *graph_.add_output() = value_of(value, old);
    }

    void write_types() {
        std::set<std::string> written;
        for (auto& value : taken(graph_.mutable_value_info())) {
            auto const found = model_.types.find(value.name());
            if (found == model_.types.end() || !exists(value.name())) continue;
            auto const is_as_before = type_of(value.type(), value.name()) == found->second;
            if (!is_as_before && written.contains(value.name())) continue;
            *graph_.add_value_info() = is_as_before ? value : model::proto_of(Value{value.name(), found->second});
            written.insert(value.name());
        }
        for (auto const& [name, type] : model_.types)
            if (exists(name) && written.insert(name).second)
                *graph_.add_value_info() = model::proto_of(Value{name, type});
    }
    [[nodiscard]] bool exists(std::string const& name) const { return made_.contains(name) || inputs_.contains(name); }

    void drop_annotations() {
        for (auto& annotation : taken(graph_.mutable_quantization_annotation()))
            if (exists(annotation.tensor_name())) *graph_.add_quantization_annotation() = annotation;
    }

    Model const& model_;
    std::map<std::string, TensorPtr> tensors_; ///< all constants
    OnnxFile const* file_;
    pb::ModelProto& proto_;
    pb::GraphProto& graph_;
    std::set<std::string> inputs_, made_;
    std::set<std::string> constants_;              ///< those that are written
    std::map<std::string, std::string> uses_;      ///< by name: where
    std::map<std::size_t, Node const*> originals_; ///< nodes of the file, by their place there
};

pb::ModelProto blank_model() {
    constexpr std::int64_t ir_version = 8;
    pb::ModelProto proto;
    proto.set_ir_version(ir_version);
    proto.set_producer_name("espalier");
    return proto;
}

/// Before anything is copied.
void check_size(Model const& model) {
    std::uint64_t bytes = 0;
    std::set<std::string> used;
    for (auto const& node : model.nodes) used.insert(node.inputs.begin(), node.inputs.end());
    for (auto const& [name, tensor] : model.constants)
        if (used.contains(name)) bytes += tensor->bytes.size();
    if (bytes > largest_file) refuse_size(bytes);
}

bool is_same_folder(std::string const& a, std::string const& b) {
    std::error_code failed;
    return !a.empty() && !b.empty() && std::filesystem::equivalent(a, b, failed) && !failed;
}

} // namespace

base::Bytes to_onnx(Model const& model, std::string const& folder) {
    auto const* file = model.file.get();
    auto const moves = file != nullptr && !file->data_files.empty() && !is_same_folder(file->folder, folder);
    auto const is_as_read = file != nullptr && is_untouched(model, file->as_read);
    if (is_as_read && !moves) return file->bytes;
    if (file == nullptr || moves || file->data_files.empty()) check_size(model);
    auto proto = file != nullptr ? parse_model(file->bytes) : blank_model();
    if (!is_as_read) GraphWriter(model, proto).write();
    if (moves)
        for_each_tensor(proto, [&](pb::TensorProto& tensor) { take_inside(tensor, ExternalData(file->folder)); });
    return serialized(proto);
}

} // namespace espalier::model
