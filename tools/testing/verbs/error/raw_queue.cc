// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "error/raw_queue.hh"

#include "connection.hh"
#include "failure.hh"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace verbs_test {

namespace {

constexpr std::size_t kPage = 4096;

// /dev/infiniband/uverbsN of the device called `name`
int open_uverbs(const std::string &name)
{
	DIR *directory = must(opendir("/sys/class/infiniband_verbs"), "/sys/class/infiniband_verbs");
	std::string path;
	while (const dirent *entry = readdir(directory)) {
		char found[64] = "";
		const std::string uverbs = entry->d_name;
		FILE *file = std::fopen(("/sys/class/infiniband_verbs/" + uverbs + "/ibdev").c_str(), "re");
		if (file == nullptr)
			continue;
		if (std::fscanf(file, "%63s", found) == 1 && name == found)
			path = "/dev/infiniband/" + uverbs;
		std::fclose(file);
	}
	closedir(directory);
	const int result = open(path.c_str(), O_RDWR | O_CLOEXEC);
	if (result < 0)
		fail("%s has no uverbs file (%s)", name.c_str(), path.c_str());
	return result;
}

// The commands begin with the address of the response; one without a response goes as udata.
int execute_on(int file, std::uint32_t command, void *request, std::size_t request_size, const void *udata,
	       std::size_t udata_size, void *response, std::size_t response_size)
{
	const std::uint64_t address = reinterpret_cast<std::uint64_t>(response);
	if (request != nullptr)
		std::memcpy(request, &address, sizeof(address));
	ib_uverbs_cmd_hdr header{};
	header.command = command;
	header.in_words = static_cast<std::uint16_t>((sizeof(header) + request_size + udata_size) / 4);
	header.out_words = static_cast<std::uint16_t>(response_size / 4);
	std::vector<std::uint8_t> bytes(sizeof(header) + request_size + udata_size);
	std::memcpy(bytes.data(), &header, sizeof(header));
	if (request_size > 0)
		std::memcpy(bytes.data() + sizeof(header), request, request_size);
	if (udata_size > 0)
		std::memcpy(bytes.data() + sizeof(header) + request_size, udata, udata_size);
	const ssize_t written = write(file, bytes.data(), bytes.size());
	return written == static_cast<ssize_t>(bytes.size()) ? 0 : errno;
}

// A response and the driver's part behind it; the headers end the first with a flexible array.
template <typename Core, typename Udata>
struct Response {
	alignas(8) std::uint8_t bytes[sizeof(Core) + sizeof(Udata)] = {};

	Core core() const
	{
		Core result;
		std::memcpy(&result, bytes, sizeof(result));
		return result;
	}
	Udata udata() const
	{
		Udata result;
		std::memcpy(&result, bytes + sizeof(Core), sizeof(result));
		return result;
	}
};

using ContextResponse = Response<ib_uverbs_get_context_resp, ohca_alloc_ucontext_resp>;

int get_context(int file, const void *udata, std::size_t size, ContextResponse &response)
{
	ib_uverbs_get_context request{};
	return execute_on(file, IB_USER_VERBS_CMD_GET_CONTEXT, &request, sizeof(request), udata, size, response.bytes,
			  sizeof(response.bytes));
}

}  // namespace

int try_raw_context(const std::string &device_name, const void *udata, std::size_t size)
{
	const int file = open_uverbs(device_name);
	ContextResponse response{};
	const int error = get_context(file, udata, size, response);
	if (error == 0)
		close(static_cast<int>(response.core().async_fd));
	close(file);
	return error;
}

RawContext::RawContext(const std::string &device_name) : name_(device_name), file_(open_uverbs(device_name))
{
	ohca_alloc_ucontext_req udata{};
	ContextResponse response{};
	must_succeed(get_context(file_, &udata, sizeof(udata), response), "GET_CONTEXT");
	events_ = static_cast<int>(response.core().async_fd);
	limits_ = response.udata();
	void *uar = mmap(nullptr, OHCA_UAR_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file_,
			 static_cast<off_t>(limits_.uar_mmap_key));
	void *kick = mmap(nullptr, kPage, PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(limits_.kick_mmap_key));
	if (uar == MAP_FAILED || kick == MAP_FAILED)
		fail_errno("mmap of the UAR page or the kick page", errno);
	uar_ = static_cast<ohca_uar *>(uar);
	kick_ = static_cast<volatile std::uint32_t *>(kick);
}

RawContext::~RawContext()
{
	munmap(uar_, OHCA_UAR_SIZE);
	munmap(const_cast<std::uint32_t *>(kick_), kPage);
	close(events_);
	close(file_);  // takes all objects with it
}

int RawContext::execute(std::uint32_t command, void *request, std::size_t request_size, const void *udata,
			std::size_t udata_size, void *response, std::size_t response_size)
{
	return execute_on(file_, command, request, request_size, udata, udata_size, response, response_size);
}

std::uint32_t RawContext::allocate_pd()
{
	ib_uverbs_alloc_pd request{};
	Response<ib_uverbs_alloc_pd_resp, ohca_alloc_pd_resp> response;
	must_succeed(execute(IB_USER_VERBS_CMD_ALLOC_PD, &request, sizeof(request), nullptr, 0, response.bytes,
			     sizeof(response.bytes)),
		     "ALLOC_PD");
	return response.core().pd_handle;
}

std::uint32_t RawContext::register_memory(std::uint32_t pd, void *memory, std::size_t length)
{
	ib_uverbs_reg_mr request{};
	ib_uverbs_reg_mr_resp response{};
	request.start = request.hca_va = reinterpret_cast<std::uint64_t>(memory);
	request.length = length;
	request.pd_handle = pd;
	request.access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
	must_succeed(execute(IB_USER_VERBS_CMD_REG_MR, &request, sizeof(request), nullptr, 0, &response,
			     sizeof(response)),
		     "REG_MR");
	return response.lkey;
}

bool RawCq::poll(ohca_cqe &cqe)
{
	const ohca_cqe *next = entry(consumer);
	const std::uint8_t owner = __atomic_load_n(&next->owner, __ATOMIC_ACQUIRE);
	const std::uint8_t phase = (consumer >> kLogDepth & 1) == 0 ? OHCA_CQE_PHASE : 0;
	if ((owner & OHCA_CQE_PHASE) != phase)
		return false;
	cqe = *next;
	consumer++;
	__atomic_store_n(&record()->consumer, consumer, __ATOMIC_RELEASE);
	return true;
}

ohca_create_cq_req cq_request(const RawCq &cq)
{
	ohca_create_cq_req request{};
	request.buffer_address = reinterpret_cast<std::uint64_t>(cq.memory.data());
	request.buffer_length = cq.memory.length();
	request.log_depth = RawCq::kLogDepth;
	return request;
}

int try_create_cq(RawContext &context, RawCq &cq, const void *udata, std::size_t size)
{
	ib_uverbs_create_cq request{};
	Response<ib_uverbs_create_cq_resp, ohca_create_cq_resp> response;
	request.cqe = (1U << RawCq::kLogDepth) - 1;
	request.comp_channel = -1;
	const int error = context.execute(IB_USER_VERBS_CMD_CREATE_CQ, &request, sizeof(request), udata, size,
					  response.bytes, sizeof(response.bytes));
	cq.handle = response.core().cq_handle;
	return error;
}

ohca_create_qp_req qp_request(const RawQp &qp)
{
	ohca_create_qp_req request{};
	request.buffer_address = reinterpret_cast<std::uint64_t>(qp.memory.data());
	request.buffer_length = qp.memory.length();
	request.sq_offset = RawQp::kSqOffset;
	request.rq_offset = RawQp::kRqOffset;
	request.log_sq_depth = request.log_rq_depth = RawQp::kLogDepth;
	request.log_sq_stride = request.log_rq_stride = RawQp::kLogStride;
	return request;
}

int try_create_qp(RawContext &context, RawQp &qp, std::uint32_t pd, const RawCq &cq, const void *udata,
		  std::size_t size)
{
	ib_uverbs_create_qp request{};
	Response<ib_uverbs_create_qp_resp, ohca_create_qp_resp> response;
	request.pd_handle = pd;
	request.send_cq_handle = request.recv_cq_handle = cq.handle;
	request.max_send_wr = request.max_recv_wr = 1U << RawQp::kLogDepth;
	request.max_send_sge = request.max_recv_sge = 4;
	request.qp_type = IB_UVERBS_QPT_RC;
	const int error = context.execute(IB_USER_VERBS_CMD_CREATE_QP, &request, sizeof(request), udata, size,
					  response.bytes, sizeof(response.bytes));
	qp.handle = response.core().qp_handle;
	qp.qpn = response.udata().qpn;
	qp.slot = response.udata().uar_slot;
	return error;
}

int destroy_cq(RawContext &context, const RawCq &cq)
{
	ib_uverbs_destroy_cq request{};
	ib_uverbs_destroy_cq_resp response{};
	request.cq_handle = cq.handle;
	return context.execute(IB_USER_VERBS_CMD_DESTROY_CQ, &request, sizeof(request), nullptr, 0, &response,
			       sizeof(response));
}

int destroy_qp(RawContext &context, const RawQp &qp)
{
	ib_uverbs_destroy_qp request{};
	ib_uverbs_destroy_qp_resp response{};
	request.qp_handle = qp.handle;
	return context.execute(IB_USER_VERBS_CMD_DESTROY_QP, &request, sizeof(request), nullptr, 0, &response,
			       sizeof(response));
}

// MODIFY_QP is the one command without a response, and so without its address in front.
int modify_raw(RawContext &context, const ib_uverbs_modify_qp &request)
{
	return context.execute(IB_USER_VERBS_CMD_MODIFY_QP, nullptr, 0, &request, sizeof(request), nullptr, 0);
}

void connect_raw(RawContext &context, const RawQp &qp, const Device &verbs_device, std::uint32_t peer)
{
	ib_uverbs_modify_qp request{};
	request.qp_handle = qp.handle;
	request.qp_state = IBV_QPS_INIT;
	request.port_num = kPort;
	request.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	request.attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	must_succeed(modify_raw(context, request), "MODIFY_QP to INIT");
	request.qp_state = IBV_QPS_RTR;
	request.path_mtu = IBV_MTU_1024;
	request.dest_qp_num = peer;
	request.rq_psn = request.sq_psn = 0x123456;
	request.max_dest_rd_atomic = request.max_rd_atomic = 4;
	request.min_rnr_timer = 1;
	request.dest.is_global = 1;
	request.dest.port_num = kPort;
	request.dest.sgid_index = verbs_device.gid_index();
	request.dest.hop_limit = 64;
	std::memcpy(request.dest.dgid, verbs_device.gid().raw, sizeof(request.dest.dgid));
	request.attr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	must_succeed(modify_raw(context, request), "MODIFY_QP to RTR");
	request.qp_state = IBV_QPS_RTS;
	request.timeout = 13;
	request.retry_cnt = 2;
	request.rnr_retry = 7;
	request.attr_mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			    IBV_QP_MAX_QP_RD_ATOMIC;
	must_succeed(modify_raw(context, request), "MODIFY_QP to RTS");
}

unsigned state_of_raw(RawContext &context, const RawQp &qp)
{
	ib_uverbs_query_qp request{};
	ib_uverbs_query_qp_resp response{};
	request.qp_handle = qp.handle;
	request.attr_mask = IBV_QP_STATE;
	must_succeed(context.execute(IB_USER_VERBS_CMD_QUERY_QP, &request, sizeof(request), nullptr, 0, &response,
				     sizeof(response)),
		     "QUERY_QP");
	return response.qp_state;
}

void ring_raw(RawContext &context, const RawQp &qp, std::uint32_t producer)
{
	ohca_uar *uar = context.uar();
	__atomic_store_n(&qp.record()->sq_producer, producer, __ATOMIC_RELEASE);
	__atomic_fetch_or(&uar->notify[qp.slot / 64], std::uint64_t{1} << (qp.slot % 64), __ATOMIC_SEQ_CST);
	__atomic_fetch_or(&uar->summary, std::uint64_t{1} << (qp.slot / 64), __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&uar->need_wakeup, __ATOMIC_SEQ_CST) != 0)
		*context.kick() = 1;
}

}  // namespace verbs_test
