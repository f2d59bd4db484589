// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "base/unix_socket.hh"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace ohca {

namespace {

bool make_address(const std::string &path, sockaddr_un &address)
{
	if (path.empty() || path.size() >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return false;
	}
	address = {};
	address.sun_family = AF_UNIX;
	memcpy(address.sun_path, path.data(), path.size());
	return true;
}

// Asks without connecting, which the other end would take for a client: a socket of the wrong
// type is told so if there is anybody at all.
bool somebody_listens(const sockaddr_un &address)
{
	const UniqueFd probe(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	return connect(probe.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) == 0 ||
	       errno == EPROTOTYPE;
}

[[noreturn]] void fail(const std::string &path, const std::string &why)
{
	throw std::runtime_error("cannot listen on " + path + ": " + why);
}

} // namespace

UniqueFd connect_unix(const std::string &path)
{
	sockaddr_un address;
	if (!make_address(path, address))
		return {};
	UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (!fd || connect(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0)
		return {};
	return fd;
}

UniqueFd listen_unix(const std::string &path)
{
	sockaddr_un address;
	if (!make_address(path, address))
		fail(path, "the path is longer than a socket address");
	struct stat status;
	if (lstat(path.c_str(), &status) == 0) {
		if (!S_ISSOCK(status.st_mode))
			fail(path, "it exists and is not a socket");
		if (somebody_listens(address))
			fail(path, "another process is listening there");
		unlink(path.c_str());
	}
	UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (!fd || bind(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0 ||
	    listen(fd.get(), 8) != 0)
		fail(path, strerror(errno));
	return fd;
}

pid_t peer_pid(int socket)
{
	ucred credentials{};
	socklen_t length = sizeof(credentials);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
		return 0;
	return credentials.pid;
}

} // namespace ohca
