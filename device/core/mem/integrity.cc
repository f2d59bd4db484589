// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/mem/integrity.hh"

#include "core/endian.hh"
#include "core/function.hh"
#include "core/mem/block_list.hh"
#include "core/mem/fast_registration.hh"
#include "core/mem/key_access.hh"

namespace ohca::core {

namespace {

static_assert(sizeof(BusBlock) % alignof(IntegrityContext) == 0, "it comes behind a list of them");

SignatureDomain domain_of(const struct ohca_signature_domain &given)
{
	return {
		.type = given.type,
		.guard_type = given.guard_type,
		.flags = given.flags,
		.reserved = 0,
		.guard_seed = from_le(given.guard_seed),
		.app_tag = from_le(given.app_tag),
		.app_tag_mask = from_le(given.app_tag_mask),
		.reserved_2 = 0,
		.ref_tag = from_le(given.ref_tag),
	};
}

bool is_domain_valid(const struct ohca_signature_domain &domain)
{
	if (domain.reserved_18 || domain.reserved_50[0] || domain.reserved_50[1])
		return false;
	if (domain.type == OHCA_SIGNATURE_NONE)
		return !domain.guard_type && !domain.flags && !domain.guard_seed && !domain.app_tag &&
		       !domain.app_tag_mask && !domain.ref_tag;
	return domain.type == OHCA_SIGNATURE_T10_DIF && domain.guard_type <= OHCA_GUARD_IP_CHECKSUM &&
	       !(domain.flags & ~OHCA_SIGNATURE_FLAGS_ALL);
}

bool is_interval_valid(uint32_t interval, bool has_signature)
{
	if (!has_signature)
		return interval == 0;
	return interval >= OHCA_INTEGRITY_INTERVAL_MIN && interval <= OHCA_INTEGRITY_INTERVAL_MAX &&
	       interval % OHCA_INTEGRITY_INTERVAL_UNIT == 0;
}

uint32_t check_request(Function &function, const MkeyContext &mkey, const struct ohca_wqe_register_integrity &request)
{
	// No atomics and windows: an atomic would leave the tuples behind, and a window translates by itself.
	const uint32_t known = known_access(function.state().features) &
			       ~uint32_t{OHCA_ACCESS_REMOTE_ATOMIC | OHCA_ACCESS_WINDOW_BIND};
	const uint32_t access = from_le(request.access);
	const uint64_t entries = uint64_t{from_le(request.data_entry_count)} + from_le(request.protection_entry_count);
	const bool has_signature = request.memory.type || request.wire.type;

	if ((access & ~known) || (needs_local_write(access) && !(access & OHCA_ACCESS_LOCAL_WRITE)))
		return OHCA_VENDOR_ERROR_KEY_ACCESS;
	if (entries > mkey.list_entry_max)
		return OHCA_VENDOR_ERROR_LENGTH;
	if (!is_domain_valid(request.memory) || !is_domain_valid(request.wire) ||
	    !is_interval_valid(from_le(request.interval), has_signature))
		return OHCA_VENDOR_ERROR_FLAGS;
	return OHCA_VENDOR_ERROR_NONE;
}

// The data and the tuples of the memory domain must fit together. `length` gets the bytes of the wire domain.
bool fit_together(const PageRange &data, const IntegrityContext &integrity, uint64_t &length)
{
	const bool among_data = is_protected(integrity.memory) && integrity.protection.page_count == 0;
	const uint64_t stride = uint64_t{integrity.interval} + (among_data ? kTupleSize : 0);
	const uint64_t count = data.length / stride;

	if (data.length % stride)
		return false;
	if (is_protected(integrity.memory) && !among_data && integrity.protection.length / kTupleSize < count)
		return false;
	length = count * (uint64_t{integrity.interval} + (is_protected(integrity.wire) ? kTupleSize : 0));
	return true;
}

} // namespace

uint32_t register_integrity(Function &function, uint32_t pd, uint32_t key,
			    const struct ohca_wqe_register_integrity &request)
{
	MkeyContext *mkey = nullptr;
	uint32_t error = find_free_key(function, pd, key, OHCA_MKEY_TYPE_INTEGRITY, mkey);

	if (!error)
		error = check_request(function, *mkey, request);
	if (error)
		return error;

	const uint32_t data_count = from_le(request.data_entry_count);
	const uint64_t data_bytes = data_count * uint64_t{sizeof(struct ohca_block)};
	PageRange data{};
	IntegrityContext integrity{};
	error = copy_block_list(function, from_le(request.list_address), mkey->list, data_count, data);
	if (!error)
		error = copy_block_list(function, from_le(request.list_address) + data_bytes, mkey->list + data_bytes,
					from_le(request.protection_entry_count), integrity.protection);
	if (error)
		return error;
	integrity.status_address = from_le(request.status_address);
	integrity.guard_end = UINT64_MAX;
	integrity.memory = domain_of(request.memory);
	integrity.wire = domain_of(request.wire);
	integrity.key = key;
	integrity.interval = from_le(request.interval);
	integrity.check_mask = request.check_mask;
	const uint32_t access = from_le(request.access);
	const uint64_t start = access & OHCA_ACCESS_ZERO_BASED ? 0 : from_le(request.start);
	uint64_t length = data.length;
	if (data.length > kRegisteredLengthMax || (integrity.interval && !fit_together(data, integrity, length)) ||
	    (length && start + (length - 1) < start))
		return OHCA_VENDOR_ERROR_KEY_RANGE;

	integrity_context(function.context(), *mkey) = integrity;
	mkey->pages = data;
	mkey->access = access;
	mkey->start = start;
	mkey->length = length;
	mkey->consumer_key = static_cast<uint8_t>(key);
	// Without a signature in either domain it is a region like any other.
	mkey->flags = integrity.interval ? kMkeyFlagIntegrity : 0;
	function.count(OHCA_COUNTER_REGISTRATIONS);
	return OHCA_VENDOR_ERROR_NONE;
}

} // namespace ohca::core
