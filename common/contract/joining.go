package contract

// Annotations of a join token, which is a Secret that only operators of the hub may touch.
const (
	// TokenClusterAnnotation names the one cluster that may join with the token, or is a
	// pattern of names, in which * stands for any characters.
	TokenClusterAnnotation = "fairlead.dev/cluster"
	// TokenMaxUsesAnnotation is how many joins the token is good for; none means one.
	TokenMaxUsesAnnotation = "fairlead.dev/max-uses"
	// TokenUsedAnnotation lists the joins that were made with the token, as JSON. Each
	// names its certificate signing request: by this the hub goes on with a join that it
	// had begun.
	TokenUsedAnnotation = "fairlead.dev/used"
	// TokenGivesAnnotation has, on the Secret of a token and as JSON, the settings for the Cluster that joins with the token.
	TokenGivesAnnotation = "fairlead.dev/gives"
	// TokenApprovalAnnotation is "manual" if an operator is to accept each join.
	TokenApprovalAnnotation = "fairlead.dev/approval"
	// TokenAcceptedAnnotation lists the requests that operators accepted, as JSON.
	TokenAcceptedAnnotation = "fairlead.dev/accepted"
	// TokenMemberAnnotation is the id of the only member that may join with the token;
	// without it any member may.
	TokenMemberAnnotation = "fairlead.dev/only-member"
	// TokenClosedAnnotation says why the token opens nothing any more though it is not used up.
	TokenClosedAnnotation = "fairlead.dev/closed"
	// TokenCreatedByAnnotation is the user who made the token.
	TokenCreatedByAnnotation = "fairlead.dev/created-by"
)

// ApprovalManual is the value of TokenApprovalAnnotation.
const ApprovalManual = "manual"

// Annotations about joining on other objects. The hub writes all but the first two and
// those on leases.
const (
	// MemberIDAnnotation, on a certificate signing request, is the UID of the
	// kube-system namespace of the member that asks.
	MemberIDAnnotation = "fairlead.dev/member-id"
	// PresentedCertificateAnnotation, on a certificate signing request of an agent, is the certificate
	// with which it asks, in PEM: a hub that was restored from a backup sees that it is later than the
	// last one that it knows.
	PresentedCertificateAnnotation = "fairlead.dev/presented-certificate"
	// AskOnlyAnnotation, on a certificate signing request, is "true" if the member only asks
	// whether it could join: the request is denied with what would be decided.
	AskOnlyAnnotation = "fairlead.dev/ask-only"
	// PendingAnnotation, on a certificate signing request, says why it is not decided
	// yet.
	PendingAnnotation = "fairlead.dev/pending"
	// AcceptedAnnotation, on a certificate signing request, wakes the hub: an operator
	// accepted it. Whether that is so the token says, which nobody else can write.
	AcceptedAnnotation = "fairlead.dev/accepted"
	// JoinedAnnotation, on a Cluster, says when its member joined last, with which token,
	// and who let it, as JSON.
	JoinedAnnotation = "fairlead.dev/joined"
	// CertificateAnnotation, on a Cluster, is about the last certificate that its agent
	// was given, as JSON.
	CertificateAnnotation = "fairlead.dev/certificate"
	// CopiedAnnotation, on a Cluster, says when an agent asked for the next certificate with another than the one that was
	// issued last, and with which, as JSON: somebody else may have a copy. It is there until the member joins again.
	CopiedAnnotation = "fairlead.dev/certificate-copied"
	// RetiredAnnotation, on a Cluster, says when and by whom it was forgotten, as JSON.
	// Its agent has no rights any more, and nobody waits for it.
	RetiredAnnotation = "fairlead.dev/retired"
	// SessionAnnotation, on the lease of an agent, tells the processes apart that renew
	// it.
	SessionAnnotation = "fairlead.dev/session"
	// AgentVersionAnnotation, on the lease of an agent, is the version of the agent, for
	// people. A hub that is older than that refuses it, and the agent leaves it out.
	AgentVersionAnnotation = "fairlead.dev/agent-version"
	// TrustAnnotation, on the lease of an agent, has the hashes of the certificate
	// authorities that the agent trusts, with commas between, and IssuerAnnotation that of
	// the authority of its own certificate. An older hub refuses them, as it does a version.
	TrustAnnotation  = "fairlead.dev/trusted-authorities"
	IssuerAnnotation = "fairlead.dev/certificate-authority"
)

// Reasons of the condition Approved or Denied that the hub puts on the certificate
// signing request of an agent. The agent reads them.
const (
	// ReasonJoinApproved : token, name, id and request agree.
	ReasonJoinApproved = "JoinApproved"
	// ReasonRenewalApproved : an agent asked again for what it already is.
	ReasonRenewalApproved = "RenewalApproved"
	// ReasonJoinPossible : the member only asked whether it could join, and it could.
	ReasonJoinPossible = "JoinPossible"
	// ReasonMalformedRequest : the request asks for another certificate than an agent
	// may have.
	ReasonMalformedRequest = "MalformedRequest"
	// ReasonNotAToken : whoever asks did not present a join token.
	ReasonNotAToken = "NotAJoinToken"
	// ReasonTokenUnknown : there is no such token any more.
	ReasonTokenUnknown = "TokenUnknown"
	// ReasonTokenExpired : the token has ended.
	ReasonTokenExpired = "TokenExpired"
	// ReasonTokenUsed : other requests were made with the token, as many as it is good for.
	ReasonTokenUsed = "TokenUsed"
	// ReasonTokenOfAnotherCluster : the token is for another name.
	ReasonTokenOfAnotherCluster = "TokenOfAnotherCluster"
	// ReasonTokenOfAnotherMember : the token is for another member.
	ReasonTokenOfAnotherMember = "TokenOfAnotherMember"
	// ReasonNameReserved : the name is that of a member that was forgotten.
	ReasonNameReserved = "NameReserved"
	// ReasonAwaitingApproval : an operator is to accept the join. It is no decision.
	ReasonAwaitingApproval = "AwaitingApproval"
	// ReasonNameTaken : another member has the name.
	ReasonNameTaken = "NameTaken"
	// ReasonMemberAlreadyJoined : this member has another name.
	ReasonMemberAlreadyJoined = "MemberAlreadyJoined"
	// ReasonFormerJoin : the agent that asks again is of a join that ended.
	ReasonFormerJoin = "FormerJoin"
	// ReasonNotTheLastCertificate : there is a later certificate than that of the agent that asks.
	ReasonNotTheLastCertificate = "NotTheLastCertificate"
	// ReasonClusterUnknown : the Cluster of an agent that asks again is gone.
	ReasonClusterUnknown = "ClusterUnknown"
	// ReasonClusterLeaving : the Cluster of that name was forgotten, and is being deleted.
	ReasonClusterLeaving = "ClusterLeaving"
)
