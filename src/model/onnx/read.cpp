#include "espalier/base/error.hpp"
#include "espalier/base/text.hpp"
#include "espalier/model/onnx.hpp"

#include "attributes.hpp"
#include "graphs.hpp"
#include "onnx_file.hpp"
#include "tensors.hpp"

#include <fmt/core.h>

#include <cstring>
#include <fstream>
#include <limits>

namespace espalier::model {
namespace {

/// As the file has it. Its captured names are not looked for.
Node node_of(pb::NodeProto const& proto, std::size_t index, ExternalData const& external) {
    auto const place = place_of(proto, index);
    if (proto.op_type().empty()) throw base::InputError("{}: it does not say which operator it is", place);
    Node node{.op = proto.op_type(),
              .domain = domain_of(proto.domain()),
              .name = proto.name(),
              .inputs = {proto.input().begin(), proto.input().end()},
              .outputs = {proto.output().begin(), proto.output().end()},
              .origin = index};
    for (auto const& attribute : proto.attribute())
        if (!node.attributes.emplace(attribute.name(), attribute_of(attribute, external, place)).second)
            throw base::InputError("{}: attribute {} is there twice: the file is damaged", place,
                                   quoted(attribute.name()));
    return node;
}

/// Reads one graph, in the order in which later parts look at earlier ones.
class GraphReader {
public:
    GraphReader(pb::ModelProto const& proto, ExternalData const& external)
        : proto_(proto), graph_(proto.graph()), external_(external) {}

    OnnxFile read() {
        file_.ir_version = proto_.ir_version();
        file_.names_elsewhere = names_elsewhere(proto_);
        model_.name = graph_.name();
        read_opsets();
        read_inputs();
        read_initializers();
        read_nodes();
        read_outputs();
        for (auto const& value : graph_.value_info())
            if (auto type = type_in(value); made_.contains(value.name()))
                model_.types.emplace(value.name(), std::move(type));
        file_.as_read = std::move(model_);
        return std::move(file_);
    }

private:
    [[nodiscard]] bool has_defaults() const { return file_.ir_version >= first_ir_with_defaults; }
    static Type type_in(pb::ValueInfoProto const& value) { return type_of(value.type(), value.name()); }

    void make(std::string const& name, std::string const& place) {
        if (name.empty()) throw base::InputError("{}: it has no name: the file is damaged, export it again", place);
        if (!made_.emplace(name, no_node).second)
            throw base::InputError("{}: there is another value called {} (names must be unique): export it again",
                                   place, quoted(name));
    }

    void read_opsets() {
        for (auto const& entry : proto_.opset_import()) {
            auto const domain = domain_of(entry.domain());
            auto const [found, is_new] = model_.opsets.emplace(domain, entry.version());
            if (!is_new && found->second != entry.version())
                throw base::InputError("the model imports two versions of the operators of domain {}: {} and {}",
                                       quoted(domain), found->second, entry.version());
        }
        if (model_.opsets.empty()) model_.opsets.emplace("", 1); // as before files said so
    }

    void read_inputs() {
        std::set<std::string> constants;
        if (!has_defaults())
            for (auto const& tensor : graph_.initializer()) constants.insert(tensor.name());
        for (auto const& value : graph_.input()) {
            if (constants.contains(value.name())) continue;
            make(value.name(), fmt::format("input {}", quoted(value.name())));
            model_.inputs.push_back({value.name(), type_in(value)});
            inputs_.insert(value.name());
        }
    }

    void read_initializers() {
        for (auto const& tensor : graph_.initializer()) {
            auto const& name = tensor.name();
            auto const is_default = inputs_.contains(name);
            if (!is_default) make(name, fmt::format("initializer {}", quoted(name)));
            auto read = tensor_of(tensor, external_);
            if (!read && !is_default) model_.unread.insert(name);
            if (!read) continue;
            auto& tensors = is_default ? model_.defaults : model_.constants;
            if (!tensors.emplace(name, std::make_shared<Tensor const>(*std::move(read))).second)
                throw base::InputError("initializer {}: it is there twice: the file is damaged", quoted(name));
        }
        for (auto const& sparse : graph_.sparse_initializer()) {
            auto const& name = sparse.values().name();
            if (inputs_.contains(name)) continue;
            make(name, fmt::format("sparse initializer {}", quoted(name)));
            model_.unread.insert(name);
        }
    }

    void read_nodes() {
        std::vector<Node> nodes;
        std::vector<int> at; // in the file
        for (int i = 0; i < graph_.node_size(); ++i) {
            auto node = node_of(graph_.node(i), static_cast<std::size_t>(i), external_);
            if (!take_constant(node)) {
                for (auto const& name : node.outputs) make_by(name, nodes.size(), node);
                nodes.push_back(std::move(node));
                at.push_back(i);
            }
        }
        for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].captured = captured_by(graph_.node(at[i]), nodes[i]);
        put_in_order(std::move(nodes));
    }

    bool take_constant(Node const& node) {
        auto tensor = constant_of(node);
        if (tensor == nullptr) return false;
        auto const& name = node.outputs.front();
        make(name, place_of(node));
        model_.constants.emplace(name, std::move(tensor));
        file_.constant_nodes.push_back({*node.origin, name});
        return true;
    }
    void make_by(std::string const& name, std::size_t node, Node const& maker) {
        if (name.empty()) return;
        make(name, place_of(maker));
        made_[name] = node;
    }

    std::vector<std::string> captured_by(pb::NodeProto const& proto, Node const& node) const {
        std::vector<std::string> captured;
        for (auto const& [name, is_made_inside] : outer_names(proto)) {
            if (made_.contains(name))
                captured.push_back(name);
            else if (!is_made_inside)
                refuse_dangling(place_of(node), name);
        }
        return captured;
    }

    [[noreturn]] static void refuse_dangling(std::string const& place, std::string const& name) {
        throw base::InputError("{}: it uses {}, which nothing makes: the file is damaged, export it again", place,
                               quoted(name));
    }
    void need(std::string const& name, std::string const& place, std::vector<std::size_t>& needs) const {
        if (name.empty()) return;
        auto const found = made_.find(name);
        if (found == made_.end()) refuse_dangling(place, name);
        if (found->second != no_node) needs.push_back(found->second);
    }

    void put_in_order(std::vector<Node> nodes) {
        std::vector<std::vector<std::size_t>> needs(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            auto const place = place_of(nodes[i]);
            for (auto const& name : nodes[i].inputs) need(name, place, needs[i]);
            for (auto const& name : nodes[i].captured) need(name, place, needs[i]);
        }
        auto const order = in_order(needs);
        if (order.cyclic)
            throw base::InputError("{}: it needs its own result (the graph has a cycle): the file is damaged",
                                   place_of(nodes[*order.cyclic]));
        for (auto const i : order.places) model_.nodes.push_back(std::move(nodes[i]));
    }

    void read_outputs() {
        for (auto const& value : graph_.output()) {
            auto const place = fmt::format("output {}", quoted(value.name()));
            if (value.name().empty())
                throw base::InputError("an output has no name: the file is damaged, export it again");
            if (!made_.contains(value.name())) refuse_dangling(place, value.name());
            model_.outputs.push_back({value.name(), type_in(value)});
        }
    }

    static constexpr auto no_node = std::numeric_limits<std::size_t>::max();

    pb::ModelProto const& proto_;
    pb::GraphProto const& graph_;
    ExternalData const& external_;
    OnnxFile file_;
    Model model_;
    std::set<std::string> inputs_;
    std::map<std::string, std::size_t> made_; ///< every value, and which node makes it
};

/// All of them, those that are only kept too: what is written again must be there.
std::set<std::string> data_files_of(pb::ModelProto& proto, ExternalData const& external) {
    std::set<std::string> files;
    for_each_tensor(proto, [&](pb::TensorProto& tensor) {
        if (is_external(tensor)) files.insert(external.check(tensor).string());
    });
    return files;
}

base::Bytes read_whole(std::string const& path) {
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed))
        throw base::InputError("it is not there, or not a plain file: name an ONNX model");
    auto const size = std::filesystem::file_size(path, failed);
    if (!failed && size > largest_file)
        throw base::InputError(
            "it is over 2 GB, ONNX's limit for a file: export it with its data in a file of their own");
    std::ifstream in(path, std::ios::binary);
    base::Bytes bytes(failed ? 0 : size);
    in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (failed || !in || in.gcount() != static_cast<std::streamsize>(bytes.size()))
        throw base::InputError("it cannot be read: check its permissions");
    return bytes;
}

} // namespace

bool has_onnx() { return true; }

pb::ModelProto parse_model(base::Bytes const& bytes) {
    pb::ModelProto proto;
    if (bytes.size() > largest_file)
        throw base::InputError("the model is over 2 GB, ONNX's limit: export it with its data in a file of their own");
    if (bytes.empty() || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
        throw base::InputError("it is not an ONNX model, or it is damaged: export it again");
    if (!proto.has_graph() || proto.ir_version() < 1)
        throw base::InputError("it is not an ONNX model (there is no graph, or no version of the format)");
    return proto;
}

Model parse_onnx(base::Bytes const& bytes, std::string const& folder) {
    auto proto = parse_model(bytes);
    ExternalData const external(folder);
    auto data_files = data_files_of(proto, external);
    auto file = GraphReader(proto, external).read();
    file.bytes = bytes;
    file.folder = folder;
    file.data_files = std::move(data_files);
    auto model = file.as_read;
    model.file = std::make_shared<OnnxFile const>(std::move(file));
    return model;
}

Model read_onnx(std::string const& path) {
    try {
        auto const folder = std::filesystem::path(path).parent_path().string();
        return parse_onnx(read_whole(path), folder.empty() ? "." : folder);
    } catch (base::InputError const& error) {
        throw base::InputError("{}: {}", base::printable(path), error.what());
    }
}

std::size_t count_nodes(Model const& model) {
    std::size_t count = 0;
    for (auto const& node : model.nodes) {
        count += is_counted(node.op, node.domain) ? 1 : 0;
        for (auto const& [name, attribute] : node.attributes)
            if (auto const* raw = std::get_if<Raw>(&attribute)) count += count_inside(proto_of(*raw, name));
    }
    return count;
}

Tensor parse_tensor(base::Bytes const& bytes, std::string* name) {
    pb::TensorProto proto;
    if (bytes.size() > largest_file || bytes.empty() ||
        !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
        throw base::InputError("it is not a tensor of ONNX, or it is damaged");
    auto tensor = tensor_of(proto, ExternalData({}));
    if (!tensor)
        throw base::InputError("tensor {}: it is of a kind that we do not read ({})", quoted(proto.name()),
                               proto.has_segment() ? "in segments" : fmt::format("elements {}", proto.data_type()));
    if (name != nullptr) *name = proto.name();
    return *std::move(tensor);
}

base::Bytes to_tensor_file(Tensor const& tensor, std::string const& name) { return serialized(proto_of(tensor, name)); }

} // namespace espalier::model
