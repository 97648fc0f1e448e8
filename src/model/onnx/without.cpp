#include "espalier/base/error.hpp"
#include "espalier/model/onnx.hpp"

namespace espalier::model {
namespace {

[[noreturn]] void refuse_onnx(std::string const& what) {
    throw base::InputError("{}: this program was built without ONNX: install libonnx-dev, libprotobuf-dev and "
                           "protobuf-compiler, and build it again",
                           what);
}

} // namespace

struct OnnxFile {};

bool has_onnx() { return false; }
Model read_onnx(std::string const& path) { refuse_onnx(path); }
Model parse_onnx(base::Bytes const&, std::string const&) { refuse_onnx("model"); }
base::Bytes to_onnx(Model const& model, std::string const&) { refuse_onnx(model.name); }
void write_onnx(Model const&, std::string const& path) { refuse_onnx(path); }
std::size_t count_nodes(Model const& model) { return model.nodes.size(); }
Tensor parse_tensor(base::Bytes const&, std::string*) { refuse_onnx("tensor"); }
base::Bytes to_tensor_file(Tensor const&, std::string const& name) { refuse_onnx(name); }

} // namespace espalier::model
