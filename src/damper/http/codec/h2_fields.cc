#include "damper/http/codec/h2_fields.h"

#include <algorithm>

#include "damper/http/codec/chars.h"
#include "damper/http/codec/h1_head.h"

namespace damper::http {
namespace {

constexpr std::size_t kFieldOverhead = 32;  // RFC 9113, 6.5.2

}  // namespace

void H2FieldReader::add(std::string_view name, std::string_view value) {
  if (state_ == State::too_large) return;
  bytes_ += name.size() + value.size() + kFieldOverhead;
  if (bytes_ > max_bytes_ || fields_.size() == max_fields_) {
    state_ = State::too_large;
    return;
  }
  if (name.starts_with(':')) return add_pseudo(name, value);
  if (!valid_field(name, value)) {
    state_ = State::malformed;
  } else if (is_hop_field(name)) {
    add_hop_field(name, value);
  } else if (name == "cookie") {
    if (!cookie_.empty()) cookie_ += "; ";
    cookie_ += value;
  } else {
    fields_.add(name, value);
  }
}

void H2FieldReader::add_pseudo(std::string_view name, std::string_view value) {
  const auto set = [&](std::string& to) {
    if (!to.empty() || value.empty()) state_ = State::malformed;
    to = value;
  };
  if (name == ":method") return set(method_);
  if (name == ":scheme") return set(scheme_);
  if (name == ":authority") return set(authority_);
  if (name == ":path") return set(path_);
  const auto status = find_digits(value, 3);
  if (name != ":status" || status_ != 0 || !status || *status < 100 || *status > 599) {
    state_ = State::malformed;
    return;
  }
  status_ = static_cast<int>(*status);
}

void H2FieldReader::add_hop_field(std::string_view name, std::string_view value) {
  if (name == "te") return;
  if (name == "host" && !host_) {
    host_ = value;
    return;
  }
  const auto length = find_digits(value, 18);
  if (name != "content-length" || content_length_ || !length) {
    state_ = State::malformed;
    return;
  }
  content_length_ = length;
}

void H2FieldReader::finish(Head& head) {
  if (!cookie_.empty()) fields_.add("cookie", cookie_);
  head.fields = fields_.view();
  head.content_length = content_length_;
}

H2FieldReader::State H2FieldReader::read_request(Head& head) {
  if (state_ != State::good) return state_;
  if (host_ && !authority_.empty() && !same_name(*host_, authority_)) return State::malformed;
  if (host_) authority_ = *host_;
  const bool is_connect = method_ == "CONNECT";
  if (is_connect) path_ = authority_;
  const bool path_fits = is_connect
                             ? scheme_.empty() && path_.find(':') != std::string_view::npos
                             : path_.starts_with('/') || (path_ == "*" && method_ == "OPTIONS");
  const bool scheme_fits = is_connect || scheme_ == "http" || scheme_ == "https";
  if (status_ != 0 || method_.empty() || !all(kToken, method_) || !path_fits ||
      !all(kTarget, path_) || !all(kAuthority, authority_) || !scheme_fits) {
    return State::malformed;
  }
  finish(head);
  head.method = method_;
  head.scheme = scheme_;
  head.authority = authority_;
  head.target = path_;
  return State::good;
}

H2FieldReader::State H2FieldReader::read_response(Head& head) {
  if (state_ != State::good) return state_;
  if (status_ == 0 || status_ == 101 || !method_.empty() || host_) return State::malformed;
  finish(head);
  head.status = status_;
  return State::good;
}

H2FieldReader::State H2FieldReader::read_trailers(Head& head) {
  if (state_ != State::good) return state_;
  if (status_ != 0 || !method_.empty() || host_ || content_length_) return State::malformed;
  finish(head);
  return State::good;
}

void H2FieldWriter::add(std::string_view name, std::string_view value) {
  spans_.push_back({text_.size(), name.size(), value.size()});
  std::transform(name.begin(), name.end(), std::back_inserter(text_), lower);
  text_ += value;
}

void H2FieldWriter::add_length(std::optional<std::uint64_t> content_length) {
  if (content_length) add("content-length", std::to_string(*content_length));
}

void H2FieldWriter::add_request(const Head& head, std::optional<std::uint64_t> content_length) {
  add(":method", head.method);
  if (head.method != "CONNECT") {
    add(":scheme", head.scheme.empty() ? "https" : head.scheme);
    add(":path", head.target);
    if (!head.authority.empty()) add(":authority", head.authority);
  } else {
    add(":authority", head.target);
  }
  add_fields(head.fields);
  add_length(content_length);
  // gRPC asks for it, and it says nothing else: trailers are understood here.
  if (const auto type = find(head.fields, "content-type");
      type && type->starts_with("application/grpc")) {
    add("te", "trailers");
  }
}

void H2FieldWriter::add_response(const Head& head, std::optional<std::uint64_t> content_length) {
  add(":status", std::to_string(head.status));
  add_fields(head.fields);
  add_length(content_length);
}

void H2FieldWriter::add_fields(std::span<const Field> fields) {
  for (const Field& field : fields) {
    if (valid_field(field.name, field.value) && !is_hop_field(field.name)) {
      add(field.name, field.value);
    }
  }
}

const std::vector<nghttp2_nv>& H2FieldWriter::list() {
  list_.clear();
  list_.reserve(spans_.size());
  for (const Span& span : spans_) {
    auto* const name = reinterpret_cast<std::uint8_t*>(text_.data() + span.begin);
    list_.push_back(
        {name, name + span.name_size, span.name_size, span.value_size, NGHTTP2_NV_FLAG_NONE});
  }
  return list_;
}

}  // namespace damper::http
