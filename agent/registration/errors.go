package registration

import (
	"errors"
	"fmt"
)

// What can go wrong with a join, for errors.Is. Each error is one of these, or one of
// package discovery, with a sentence that says what to do.
var (
	// ErrUnreachable : nobody answers at the hub's address.
	ErrUnreachable = errors.New("the hub cannot be reached")
	// ErrServerCertificate : the hub's certificate does not hold for the address or the
	// time.
	ErrServerCertificate = errors.New("the hub's certificate does not fit")
	// ErrTokenRejected : the hub does not accept the token.
	ErrTokenRejected = errors.New("the hub does not accept the join token")
	// ErrDenied : the hub refused; see DeniedError.
	ErrDenied = errors.New("the hub refused the join")
	// ErrFailed : the hub approved, but the certificate could not be issued.
	ErrFailed = errors.New("the hub could not issue the certificate")
	// ErrDeadline : the hub did not decide in time.
	ErrDeadline = errors.New("the hub has not decided about the join in time")
	// ErrMember : the member's own API does not answer as it should.
	ErrMember = errors.New("the member cannot be asked for its id")
	// ErrStateDir : the state directory cannot be used.
	ErrStateDir = errors.New("the state directory cannot be used")
	// ErrOtherCluster : the state directory is that of another cluster.
	ErrOtherCluster = errors.New("the state directory belongs to another cluster")
	// errStuck : the member has joined, but is not Ready.
	errStuck = errors.New("the cluster has joined, but is not ready")
	// ErrRetired : the hub forgot this member; see RetiredError.
	ErrRetired = errors.New("the hub has retired this cluster")
	// ErrJoinedAgain : somebody has joined again in the place of this agent, whose certificate the hub has revoked.
	ErrJoinedAgain = errors.New("this cluster has joined again")
	// ErrNotJoined : there is nothing in the state directory to run with.
	ErrNotJoined = errors.New("this member has not joined a hub yet")
)

// DeniedError is the hub's word about a join that it refused. It is an ErrDenied.
type DeniedError struct {
	// Reason is one of the reasons in package contract.
	Reason string
	// Message is the hub's sentence, which says what to do.
	Message string
}

// Error is the hub's sentence.
func (e *DeniedError) Error() string { return fmt.Sprintf("%v: %s", ErrDenied, e.Message) }

// Unwrap makes it an ErrDenied.
func (e *DeniedError) Unwrap() error { return ErrDenied }

// RetiredError is the hub's word that it forgot this member. It is an ErrRetired.
type RetiredError struct {
	// Cluster is the name that the member had.
	Cluster string `json:"cluster"`
	// At is when it was forgotten (RFC 3339), By who did it.
	At string `json:"at"`
	By string `json:"by"`
}

// Error says who did it and what to do.
func (e *RetiredError) Error() string {
	return fmt.Sprintf("%v: %s was forgotten at %s by %s; to have it back, join again with a token from `hub token create --cluster %s`",
		ErrRetired, e.Cluster, e.At, e.By, e.Cluster)
}

// Unwrap makes it an ErrRetired.
func (e *RetiredError) Unwrap() error { return ErrRetired }

// temporaryError is one after which it is worth while to try again.
type temporaryError struct {
	error

	// expected says that it is the ordinary course of things for a while.
	expected bool
}

// Unwrap returns the error as it will be reported when there is no time left.
func (e temporaryError) Unwrap() error { return e.error }
