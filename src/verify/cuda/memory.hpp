#pragma once

#include "espalier/base/error.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

namespace espalier::verify::cuda {

inline void check(cudaError_t error, char const* what) {
    if (error != cudaSuccess) throw base::SystemError("CUDA: {} failed: {}", what, cudaGetErrorString(error));
}

/// Owns a stream of the device that is current when it is made.
class Stream {
public:
    Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream"); }
    ~Stream() { cudaStreamDestroy(stream_); }
    Stream(Stream const&) = delete;
    Stream& operator=(Stream const&) = delete;
    [[nodiscard]] cudaStream_t get() const { return stream_; }
    void wait() const { check(cudaStreamSynchronize(stream_), "a batch"); }

private:
    cudaStream_t stream_{};
};

/// Where the bytes of a buffer are.
struct OnDevice {
    static cudaError_t allocate(void** to, std::size_t size) { return cudaMalloc(to, size); }
    static void release(void* from) { cudaFree(from); }
};
/// Host memory that a device copies from and to by itself.
struct Pinned {
    static cudaError_t allocate(void** to, std::size_t size) { return cudaMallocHost(to, size); }
    static void release(void* from) { cudaFreeHost(from); }
};

/// Bytes that are used again for batch after batch and only grow. What they held is lost when they grow.
template <class Where>
class Buffer {
public:
    Buffer() = default;
    ~Buffer() { Where::release(data_); }
    Buffer(Buffer const&) = delete;
    Buffer& operator=(Buffer const&) = delete;

    std::byte* reserve(std::size_t size) {
        if (size <= size_) return data_;
        Where::release(std::exchange(data_, nullptr));
        size_ = 0;
        void* bytes = nullptr;
        check(Where::allocate(&bytes, size + size / 2), "allocating memory");
        data_ = static_cast<std::byte*>(bytes);
        size_ = size + size / 2;
        return data_;
    }
    [[nodiscard]] std::byte* data() const { return data_; }

private:
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace espalier::verify::cuda
