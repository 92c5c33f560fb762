package contract

// Reasons of the condition Approved or Denied that the hub puts on the certificate
// signing request of an agent. The agent reads them.
const (
	// ReasonJoinApproved : token, name, id and request agree.
	ReasonJoinApproved = "JoinApproved"
	// ReasonRenewalApproved : an agent asked again for what it already is.
	ReasonRenewalApproved = "RenewalApproved"
	// ReasonMalformedRequest : the request asks for another certificate than an agent
	// may have.
	ReasonMalformedRequest = "MalformedRequest"
	// ReasonNotAToken : whoever asks did not present a join token.
	ReasonNotAToken = "NotAJoinToken"
	// ReasonTokenUnknown : there is no such token any more.
	ReasonTokenUnknown = "TokenUnknown"
	// ReasonTokenExpired : the token has ended.
	ReasonTokenExpired = "TokenExpired"
	// ReasonTokenUsed : another request was made with the token.
	ReasonTokenUsed = "TokenUsed"
	// ReasonTokenOfAnotherCluster : the token is for another name.
	ReasonTokenOfAnotherCluster = "TokenOfAnotherCluster"
	// ReasonNameTaken : another member has the name.
	ReasonNameTaken = "NameTaken"
	// ReasonMemberAlreadyJoined : this member has another name.
	ReasonMemberAlreadyJoined = "MemberAlreadyJoined"
	// ReasonClusterUnknown : the Cluster of an agent that asks again is gone.
	ReasonClusterUnknown = "ClusterUnknown"
	// ReasonClusterLeaving : the Cluster of that name is being deleted.
	ReasonClusterLeaving = "ClusterLeaving"
)
