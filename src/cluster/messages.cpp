#include "espalier/cluster/messages.hpp"

#include "espalier/base/error.hpp"

namespace espalier::cluster {
namespace {

using base::Bytes;

/// A T, const (when it is written) or not (when it is read).
template <class M, class T>
concept Like = std::same_as<std::remove_const_t<M>, T>;

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = !std::same_as<T, std::byte>;

/// Writes fields; Reader reads them. `fields(archive, struct)` below is the one place where a layout is written down.
class Writer {
public:
    explicit Writer(Bytes& out) : out_(out) {}
    template <class... T>
    void operator()(T const&... values) {
        (one(values), ...);
    }

private:
    template <class T>
    void one(T const& value) {
        if constexpr (base::Packable<T>)
            out_.put(value);
        else if constexpr (std::same_as<T, std::string>)
            out_.put_text(value);
        else if constexpr (std::same_as<T, Bytes>)
            out_.put_block(value);
        else if constexpr (is_list<T>) {
            out_.put(static_cast<std::uint32_t>(value.size()));
            for (auto const& item : value) one(item);
        } else
            fields(*this, value);
    }
    base::ByteWriter out_;
};

/// Counts the bytes that Writer would write.
class Counter {
public:
    template <class... T>
    void operator()(T const&... values) {
        (one(values), ...);
    }
    [[nodiscard]] std::size_t size() const { return size_; }

private:
    template <class T>
    void one(T const& value) {
        if constexpr (base::Packable<T>)
            size_ += sizeof(T);
        else if constexpr (std::same_as<T, std::string> || std::same_as<T, Bytes>)
            size_ += sizeof(std::uint32_t) + value.size();
        else if constexpr (is_list<T>) {
            size_ += sizeof(std::uint32_t);
            for (auto const& item : value) one(item);
        } else
            fields(*this, value);
    }
    std::size_t size_ = 0;
};

constexpr OrderKind last_of(OrderKind) { return OrderKind::stop; }
constexpr Hunger last_of(Hunger) { return Hunger::idle; }
constexpr search::StopReason last_of(search::StopReason) {
    return static_cast<search::StopReason>(search::stop_reason_names.size() - 1);
}
constexpr search::Verification last_of(search::Verification) {
    return static_cast<search::Verification>(search::verification_names.size() - 1);
}

template <class Enum>
Enum known(Enum value) {
    if (value > last_of(value)) throw base::SystemError("a message has a value that is not one of its kind");
    return value;
}

class Reader {
public:
    explicit Reader(std::span<std::byte const> in) : in_(in) {}
    template <class... T>
    void operator()(T&... values) {
        (one(values), ...);
    }
    [[nodiscard]] std::size_t left() const { return in_.left(); }

private:
    template <class T>
    void one(T& value) {
        if constexpr (std::same_as<T, bool>)
            value = in_.get<std::uint8_t>() != 0; // any other byte is not a bool
        else if constexpr (std::is_enum_v<T>)
            value = known(in_.get<T>());
        else if constexpr (base::Packable<T>)
            value = in_.get<T>();
        else if constexpr (std::same_as<T, std::string>)
            value = in_.get_text();
        else if constexpr (std::same_as<T, Bytes>) {
            auto const block = in_.get_block();
            value.assign(block.begin(), block.end());
        } else if constexpr (is_list<T>) {
            auto const n = in_.get<std::uint32_t>();
            if (n > in_.left()) throw base::SystemError("a list of {} items does not fit in a message", n);
            value.resize(n);
            for (auto& item : value) one(item);
        } else
            fields(*this, value);
    }
    base::ByteReader in_;
};

void fields(auto& a, Like<search::PackedNode> auto& m) { a(m.depth, m.priority, m.origin, m.bytes); }
void fields(auto& a, Like<search::ResultRecord> auto& m) {
    a(m.key, m.cost, m.error_bound, m.verification, m.text, m.payload);
}
void fields(auto& a, Like<search::EmitRecord> auto& m) { a(m.key, m.bytes); }
void fields(auto& a, Like<search::EmitMark> auto& m) { a(m.rank, m.records, m.first); }
void fields(auto& a, Like<search::Counts> auto& m) { a(m.nodes, m.funnel, m.counters); }
void fields(auto& a, Like<search::Harvest> auto& m) { a(m.counts, m.results, m.emits, m.emit_marks, m.kept, m.given); }
void fields(auto& a, Like<search::PhaseTimes> auto& m) { a(m.start, m.search, m.verify, m.prove, m.store, m.idle); }
void fields(auto& a, Like<search::ClassCost> auto& m) { a(m.class_key, m.cost); }
void fields(auto& a, Like<Header> auto& m) { a(m.level, m.sequence, m.incumbent); }
void fields(auto& a, Like<Hello> auto& m) { a(m.threads, m.host, m.clock_ns); }
void fields(auto& a, Like<Welcome> auto& m) { a(m.epoch, m.echo_ns, m.clock_ns); }
void fields(auto& a, Like<Batch> auto& m) { a(m.epoch, m.number, m.budget_ns, m.roots); }
void fields(auto& a, Like<Order> auto& m) { a(m.epoch, m.kind, m.amount, m.budget_ns, m.echo_ns, m.clock_ns); }
void fields(auto& a, Like<Pulse> auto& m) {
    a(m.epoch, m.received, m.clock_ns, m.unfinished, m.spare, m.nodes, m.results, m.threads, m.idle_threads,
      m.lost_ranks, m.cpu_seconds, m.hunger, m.has_declined, m.asks_to_stop);
}
void fields(auto& a, Like<Commit> auto& m) { a(m.pulse, m.harvest, m.is_final, m.error); }
void fields(auto& a, Like<Farewell> auto& m) {
    a(m.epoch, m.ranks, m.cpu_seconds, m.peak_rss_bytes, m.phases, m.trace_events);
}

/// Set in the byte of the kind if a list of incumbents by class follows the header.
constexpr std::uint8_t classes_follow = 0x80;

/// All bytes of a message in their order.
void write_message(auto& write, Message const& message) {
    auto const& header = message.header;
    auto const flag = header.classes.empty() ? std::uint8_t{0} : classes_follow;
    write(message_version, static_cast<std::uint8_t>(message.body.index() | flag), header);
    if (flag != 0) write(header.classes);
    std::visit([&](auto const& body) { write(body); }, message.body);
}

/// A default-constructed body of the variant's alternative `index`.
template <std::size_t I = 0>
Body body_of(std::size_t index) {
    if constexpr (I == std::variant_size_v<Body>)
        throw base::SystemError("unknown kind of message: {}", index);
    else
        return index == I ? Body(std::in_place_index<I>) : body_of<I + 1>(index);
}

} // namespace

Bytes encode(Message const& message) {
    Bytes bytes;
    Writer write(bytes);
    write_message(write, message);
    return bytes;
}

std::size_t encoded_size(Message const& message) {
    Counter count;
    write_message(count, message);
    return count.size();
}

Message decode(std::span<std::byte const> bytes) {
    Reader read(bytes);
    std::uint8_t version = 0;
    std::uint8_t kind = 0;
    read(version, kind);
    if (version != message_version)
        throw base::SystemError(
            "a message of version {} arrived, but this rank speaks version {}: all ranks must run the same espalier",
            version, message_version);
    Message message{.header = {}, .body = body_of(kind & ~classes_follow)};
    read(message.header);
    if ((kind & classes_follow) != 0) read(message.header.classes);
    std::visit([&](auto& body) { read(body); }, message.body);
    if (read.left() != 0) throw base::SystemError("a message has {} bytes too many", read.left());
    return message;
}

} // namespace espalier::cluster
