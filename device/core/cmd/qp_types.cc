// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Alternate paths, path migration and the port number, which IBTA lists too, are the driver's
// business, and with RoCE there is nothing to migrate to.
#include "core/cmd/qp_types.hh"

namespace ohca::core {

namespace {

constexpr uint32_t kTypeCount = OHCA_QP_TYPE_XRC_TGT + 1;
constexpr uint8_t kQueueFlags = OHCA_QP_SIGNAL_ALL | OHCA_QP_NO_SQ | OHCA_QP_NO_RQ;

constexpr QpType kTypes[kTypeCount] = {
	{},
	{.feature = OHCA_FEATURE_RC, .valid = true, .has_sq = true, .has_rq = true, .may_share_rq = true,
	 .has_pd = true, .flags = kQueueFlags},
	{.feature = OHCA_FEATURE_UC, .valid = true, .has_sq = true, .has_rq = true, .may_share_rq = true,
	 .has_pd = true, .flags = kQueueFlags},
	{.feature = OHCA_FEATURE_UD, .valid = true, .has_sq = true, .has_rq = true, .may_share_rq = true,
	 .has_pd = true, .flags = kQueueFlags | OHCA_QP_BLOCK_MULTICAST_LOOPBACK},
	{.feature = OHCA_FEATURE_UD, .valid = true, .has_sq = true, .has_rq = true, .may_share_rq = false,
	 .has_pd = true, .flags = kQueueFlags},
	{.feature = OHCA_FEATURE_XRC, .valid = true, .has_sq = true, .has_rq = false, .may_share_rq = false,
	 .has_pd = true, .flags = kQueueFlags},
	{.feature = OHCA_FEATURE_XRC, .valid = true, .has_sq = false, .has_rq = false, .may_share_rq = false,
	 .has_pd = false, .flags = OHCA_QP_NO_SQ | OHCA_QP_NO_RQ},
};

// IBTA 11.2.5.2, by what the attributes are about.
constexpr uint32_t kPkey = OHCA_QP_ATTR_PKEY_INDEX;
constexpr uint32_t kQkey = OHCA_QP_ATTR_QKEY;
constexpr uint32_t kAccess = OHCA_QP_ATTR_ACCESS;
constexpr uint32_t kRnrTimer = OHCA_QP_ATTR_MIN_RNR_TIMER;
constexpr uint32_t kDrained = OHCA_QP_ATTR_SQ_DRAINED_EVENT;
constexpr uint32_t kConnect = OHCA_QP_ATTR_PATH | OHCA_QP_ATTR_PATH_MTU | OHCA_QP_ATTR_DEST_QPN | OHCA_QP_ATTR_RQ_PSN;
constexpr uint32_t kRespond = OHCA_QP_ATTR_MAX_DEST_READ_ATOMIC | kRnrTimer;
constexpr uint32_t kTimeout = OHCA_QP_ATTR_ACK_TIMEOUT;
constexpr uint32_t kSendPsn = OHCA_QP_ATTR_SQ_PSN;
constexpr uint32_t kRetries =
	kTimeout | OHCA_QP_ATTR_RETRY_COUNT | OHCA_QP_ATTR_RNR_RETRY | OHCA_QP_ATTR_MAX_READ_ATOMIC;

// The types whose rows differ. GSI is as UD.
enum Column : uint8_t { kRc, kUc, kUd, kXrcIni, kXrcTgt, kColumnCount };

struct Row {
	uint8_t from;
	uint8_t to;
	QpTransition columns[kColumnCount];
};

constexpr Row kRows[] = {
	{OHCA_QP_STATE_RESET, OHCA_QP_STATE_INIT,
	 {{kPkey | kAccess, 0}, {kPkey | kAccess, 0}, {kPkey | kQkey, 0}, {kPkey | kAccess, 0}, {kPkey | kAccess, 0}}},
	{OHCA_QP_STATE_INIT, OHCA_QP_STATE_INIT,
	 {{0, kPkey | kAccess}, {0, kPkey | kAccess}, {0, kPkey | kQkey}, {0, kPkey | kAccess}, {0, kPkey | kAccess}}},
	{OHCA_QP_STATE_INIT, OHCA_QP_STATE_RTR,
	 {{kConnect | kRespond, kPkey | kAccess},
	  {kConnect, kPkey | kAccess},
	  {0, kPkey | kQkey},
	  {kConnect, kPkey | kAccess},
	  {kConnect | kRespond, kPkey | kAccess}}},
	{OHCA_QP_STATE_RTR, OHCA_QP_STATE_RTS,
	 {{kSendPsn | kRetries, kAccess | kRnrTimer},
	  {kSendPsn, kAccess},
	  {kSendPsn, kQkey},
	  {kSendPsn | kRetries, kAccess},
	  {kSendPsn | kTimeout, kAccess | kRnrTimer}}},
	{OHCA_QP_STATE_RTS, OHCA_QP_STATE_RTS,
	 {{0, kAccess | kRnrTimer}, {0, kAccess}, {0, kQkey}, {0, kAccess}, {0, kAccess | kRnrTimer}}},
	{OHCA_QP_STATE_RTS, OHCA_QP_STATE_SQD, {{0, kDrained}, {0, kDrained}, {0, kDrained}, {0, kDrained}, {0, kDrained}}},
	{OHCA_QP_STATE_SQD, OHCA_QP_STATE_SQD,
	 {{0, kPkey | kAccess | OHCA_QP_ATTR_PATH | kRetries | kRespond},
	  {0, kPkey | kAccess | OHCA_QP_ATTR_PATH},
	  {0, kPkey | kQkey},
	  {0, kPkey | kAccess | OHCA_QP_ATTR_PATH | kRetries},
	  {0, kPkey | kAccess | OHCA_QP_ATTR_PATH | kTimeout | kRespond}}},
	{OHCA_QP_STATE_SQD, OHCA_QP_STATE_RTS,
	 {{0, kAccess | kRnrTimer}, {0, kAccess}, {0, kQkey}, {0, kAccess}, {0, kAccess | kRnrTimer}}},
};

// Types that have SQE at all (IBTA 10.3.1.7): those whose send errors the peer does not see.
constexpr QpTransition kUcFromSqe = {0, kAccess};
constexpr QpTransition kUdFromSqe = {0, kQkey};
// To these from every state, and without attributes.
constexpr QpTransition kToResetOrError = {0, 0};

constexpr Column kColumns[kTypeCount] = {kRc, kRc, kUc, kUd, kUd, kXrcIni, kXrcTgt};

} // namespace

const QpType &qp_type(uint8_t type)
{
	return kTypes[type < kTypeCount ? type : 0];
}

const QpTransition *find_qp_transition(uint8_t type, uint8_t from, uint8_t to)
{
	const Column column = kColumns[type < kTypeCount ? type : 0];

	if (to == OHCA_QP_STATE_RESET || to == OHCA_QP_STATE_ERR)
		return &kToResetOrError;
	if (from == OHCA_QP_STATE_SQE && to == OHCA_QP_STATE_RTS && column == kUc)
		return &kUcFromSqe;
	if (from == OHCA_QP_STATE_SQE && to == OHCA_QP_STATE_RTS && column == kUd)
		return &kUdFromSqe;
	for (const Row &row : kRows)
		if (row.from == from && row.to == to)
			return &row.columns[column];
	return nullptr;
}

} // namespace ohca::core
