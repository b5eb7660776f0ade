#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "damper/http/net/asio_context.h"
#include "damper/http/net/loop.h"
#include "damper/run/clock.h"

namespace damper::http {

using Socket = boost::asio::ip::tcp::socket;

// Two ends of a TCP connection on the loopback, both of one loop.
struct SocketPair {
  Socket server;
  Socket client;
};

// The descriptor, non-blocking, for a transport.
inline int release(Socket socket) {
  socket.native_non_blocking(true);
  return socket.release();
}

inline SocketPair connect_pair(Loop& loop) {
  using boost::asio::ip::tcp;
  tcp::acceptor acceptor(loop.context(), tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  Socket client(loop.context());
  client.connect(acceptor.local_endpoint());
  Socket server(loop.context());
  acceptor.accept(server);
  return {std::move(server), std::move(client)};
}

// Ends a loop that a test would otherwise wait for in vain, and fails the test.
class Watchdog final : public Loop::Timer {
 public:
  explicit Watchdog(Loop& loop, Duration patience = std::chrono::seconds(60)) : Loop::Timer(loop) {
    arm(add(run::now(), patience));
  }

 private:
  void on_timer(Instant) override {
    ADD_FAILURE() << "the test takes too long";
    loop().stop();
  }
};

// A certificate for a test, signed by itself, for `name` (and 127.0.0.1).
struct TestCertificate {
  std::string certificate_pem;
  std::string key_pem;
};

inline TestCertificate make_certificate(const std::string& name) {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* const subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate, subject);
  const std::string names = "DNS:" + name + ",IP:127.0.0.1";
  X509_EXTENSION* const extension =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  X509_sign(certificate, key, EVP_sha256());

  const auto text = [](const std::function<void(BIO*)>& write) {
    BIO* const bio = BIO_new(BIO_s_mem());
    write(bio);
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    std::string pem(data, static_cast<std::size_t>(size));
    BIO_free(bio);
    return pem;
  };
  TestCertificate made;
  made.certificate_pem = text([&](BIO* bio) { PEM_write_bio_X509(bio, certificate); });
  made.key_pem = text(
      [&](BIO* bio) { PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr); });
  X509_free(certificate);
  EVP_PKEY_free(key);
  return made;
}

}  // namespace damper::http
