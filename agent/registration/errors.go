package registration

import (
	"errors"
	"fmt"
)

// Kinds of errors of a join, for errors.Is. Each error wraps one of these, or one of package discovery, in a sentence
// that says what to do.
var (
	// ErrUnreachable means that nobody answers at the hub's address.
	ErrUnreachable = errors.New("the hub cannot be reached")
	// ErrServerCertificate means that the hub's certificate is not valid for the address or the time.
	ErrServerCertificate = errors.New("the hub's certificate is not valid")
	// ErrTokenRejected means that the hub does not accept the token.
	ErrTokenRejected = errors.New("the hub does not accept the join token")
	// ErrDenied means that the hub refused; see DeniedError.
	ErrDenied = errors.New("the hub refused the join")
	// ErrFailed means that the hub approved, but the certificate could not be issued.
	ErrFailed = errors.New("the hub could not issue the certificate")
	// ErrDeadline means that the hub did not decide in time.
	ErrDeadline = errors.New("the hub has not decided about the join in time")
	// ErrMember means that the member's own API does not answer as it should.
	ErrMember = errors.New("the member cannot be asked for its id")
	// ErrStateDir means that the state directory cannot be used.
	ErrStateDir = errors.New("the state directory cannot be used")
	// ErrOtherCluster means that the state directory is that of another cluster.
	ErrOtherCluster = errors.New("the state directory belongs to another cluster")
	// errStuck means that the member has joined, but is not Ready.
	errStuck = errors.New("the cluster has joined, but is not ready")
	// ErrRetired means that the hub forgot this member; see RetiredError.
	ErrRetired = errors.New("the hub has retired this cluster")
	// ErrJoinedAgain means that somebody has joined again in the place of this agent, whose certificate the hub has
	// revoked.
	ErrJoinedAgain = errors.New("this cluster has joined again")
	// ErrNotJoined means that there is nothing in the state directory to run with.
	ErrNotJoined = errors.New("this member has not joined a hub yet")
)

// DeniedError is the hub's refusal of a join. It is an ErrDenied.
type DeniedError struct {
	// Reason is one of the reasons in package contract.
	Reason string
	// Message is the hub's explanation, which says what to do.
	Message string
}

// Error returns the hub's explanation.
func (e *DeniedError) Error() string { return fmt.Sprintf("%v: %s", ErrDenied, e.Message) }

// Unwrap makes it an ErrDenied.
func (e *DeniedError) Unwrap() error { return ErrDenied }

// RetiredError is the hub's statement that it forgot this member. It is an ErrRetired.
type RetiredError struct {
	// Cluster is the name that the member had.
	Cluster string `json:"cluster"`
	// At is when it was forgotten (RFC 3339), and By is who did it.
	At string `json:"at"`
	By string `json:"by"`
}

// Error says who did it and what to do.
func (e *RetiredError) Error() string {
	return fmt.Sprintf("%v: %s was forgotten at %s by %s; to add it again, join with a token from `hub token create --cluster %s`",
		ErrRetired, e.Cluster, e.At, e.By, e.Cluster)
}

// Unwrap makes it an ErrRetired.
func (e *RetiredError) Unwrap() error { return ErrRetired }

// temporaryError is an error after which a retry may succeed.
type temporaryError struct {
	error

	// expected says that the error is normal for a while.
	expected bool
}

// Unwrap returns the error as it will be reported when there is no time left.
func (e temporaryError) Unwrap() error { return e.error }
