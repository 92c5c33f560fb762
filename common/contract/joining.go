package contract

// Annotations of a join token, which is a Secret that only operators of the hub may touch.
const (
	// TokenClusterAnnotation is the name of the only cluster that may join with the token, or a pattern of names, in
	// which * stands for any characters.
	TokenClusterAnnotation = "fairlead.dev/cluster"
	// TokenMaxUsesAnnotation is how many joins the token allows; the default is one.
	TokenMaxUsesAnnotation = "fairlead.dev/max-uses"
	// TokenUsedAnnotation lists the joins made with the token, as JSON. Each names its certificate signing request,
	// so that the hub can resume a join that it has begun.
	TokenUsedAnnotation = "fairlead.dev/used"
	// TokenGivesAnnotation, on the Secret of a token, holds as JSON the settings for a Cluster that joins with the
	// token.
	TokenGivesAnnotation = "fairlead.dev/gives"
	// TokenApprovalAnnotation is "manual" if an operator has to approve each join.
	TokenApprovalAnnotation = "fairlead.dev/approval"
	// TokenAcceptedAnnotation lists the requests that operators approved, as JSON.
	TokenAcceptedAnnotation = "fairlead.dev/accepted"
	// TokenMemberAnnotation is the ID of the only member that may join with the token; without it any member may.
	TokenMemberAnnotation = "fairlead.dev/only-member"
	// TokenClosedAnnotation is why the token was disabled although it is not used up.
	TokenClosedAnnotation = "fairlead.dev/closed"
	// TokenCreatedByAnnotation is the user who made the token.
	TokenCreatedByAnnotation = "fairlead.dev/created-by"
)

// ApprovalManual is the value of TokenApprovalAnnotation.
const ApprovalManual = "manual"

// Annotations about joining on other objects. The hub writes all except the first two and those on leases.
const (
	// MemberIDAnnotation, on a certificate signing request, is the UID of the kube-system namespace of the requesting
	// member.
	MemberIDAnnotation = "fairlead.dev/member-id"
	// PresentedCertificateAnnotation, on a certificate signing request of an agent, is the certificate with which it
	// authenticates, in PEM: a hub that was restored from a backup sees that it is newer than the last one it knows.
	PresentedCertificateAnnotation = "fairlead.dev/presented-certificate"
	// AskOnlyAnnotation, on a certificate signing request, is "true" if the member only asks whether it could join:
	// the request is denied with the decision that would be made.
	AskOnlyAnnotation = "fairlead.dev/ask-only"
	// PendingAnnotation, on a certificate signing request, is why it is not decided yet.
	PendingAnnotation = "fairlead.dev/pending"
	// AcceptedAnnotation, on a certificate signing request, triggers the hub after an operator approved it. The
	// approval itself is on the token, which nobody else can write.
	AcceptedAnnotation = "fairlead.dev/accepted"
	// JoinedAnnotation, on a Cluster, records when its member last joined, with which token, and who approved it, as
	// JSON.
	JoinedAnnotation = "fairlead.dev/joined"
	// CertificateAnnotation, on a Cluster, describes the last certificate issued to its agent, as JSON.
	CertificateAnnotation = "fairlead.dev/certificate"
	// CopiedAnnotation, on a Cluster, records when an agent asked for a renewal with a certificate other than the
	// last one issued, and with which, as JSON: somebody else may have a copy. It stays until the member joins again.
	CopiedAnnotation = "fairlead.dev/certificate-copied"
	// RetiredAnnotation, on a Cluster, records when and by whom it was forgotten, as JSON. Its agent has no rights
	// any more, and nobody waits for it.
	RetiredAnnotation = "fairlead.dev/retired"
	// SessionAnnotation, on the lease of an agent, tells the processes apart that renew it.
	SessionAnnotation = "fairlead.dev/session"
	// AgentVersionAnnotation, on the lease of an agent, is the version of the agent, for people. A hub that does not
	// know it yet refuses it, and the agent leaves it out.
	AgentVersionAnnotation = "fairlead.dev/agent-version"
	// TrustAnnotation, on the lease of an agent, has the hashes of the certificate authorities that the agent trusts,
	// separated by commas, and IssuerAnnotation that of its own certificate's authority. An older hub refuses them
	// like the version.
	TrustAnnotation  = "fairlead.dev/trusted-authorities"
	IssuerAnnotation = "fairlead.dev/certificate-authority"
)

// Reasons of the condition Approved or Denied that the hub sets on the certificate signing request of an agent. The
// agent evaluates them.
const (
	// ReasonJoinApproved means that token, name, id and request agree.
	ReasonJoinApproved = "JoinApproved"
	// ReasonRenewalApproved means that an agent renewed its certificate.
	ReasonRenewalApproved = "RenewalApproved"
	// ReasonJoinPossible means that the member only asked whether it could join, and it could.
	ReasonJoinPossible = "JoinPossible"
	// ReasonMalformedRequest means that the request asks for a certificate that an agent may not have.
	ReasonMalformedRequest = "MalformedRequest"
	// ReasonNotAToken means that the requester did not present a join token.
	ReasonNotAToken = "NotAJoinToken"
	// ReasonTokenUnknown means that the token does not exist, or no longer.
	ReasonTokenUnknown = "TokenUnknown"
	// ReasonTokenExpired means that the token has ended.
	ReasonTokenExpired = "TokenExpired"
	// ReasonTokenUsed means that the token was used for as many other requests as it allows.
	ReasonTokenUsed = "TokenUsed"
	// ReasonTokenOfAnotherCluster means that the token is for another name.
	ReasonTokenOfAnotherCluster = "TokenOfAnotherCluster"
	// ReasonTokenOfAnotherMember means that the token is for another member.
	ReasonTokenOfAnotherMember = "TokenOfAnotherMember"
	// ReasonNameReserved means that the name belongs to a member that was forgotten.
	ReasonNameReserved = "NameReserved"
	// ReasonAwaitingApproval means that an operator has to approve the join. It is not a decision.
	ReasonAwaitingApproval = "AwaitingApproval"
	// ReasonNameTaken means that another member has the name.
	ReasonNameTaken = "NameTaken"
	// ReasonMemberAlreadyJoined means that this member has joined under another name.
	ReasonMemberAlreadyJoined = "MemberAlreadyJoined"
	// ReasonFormerJoin means that the agent that renews is from a join that ended.
	ReasonFormerJoin = "FormerJoin"
	// ReasonNotTheLastCertificate means that a newer certificate than that of the renewing agent exists.
	ReasonNotTheLastCertificate = "NotTheLastCertificate"
	// ReasonClusterUnknown means that the Cluster of a renewing agent is gone.
	ReasonClusterUnknown = "ClusterUnknown"
	// ReasonClusterLeaving means that the Cluster of that name was forgotten, and is being deleted.
	ReasonClusterLeaving = "ClusterLeaving"
)
