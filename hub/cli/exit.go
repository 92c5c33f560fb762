package cli

import (
	"errors"
	"fmt"
	"net"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// Exit statuses for scripts. The help of the program lists them.
const (
	// ExitDone means success, or that the answer is yes.
	ExitDone = 0
	// ExitFailed means that the command failed, or could not determine the answer.
	ExitFailed = 1
	// ExitNo means that the answer is no: something differs, or is not ready.
	ExitNo = 2
	// ExitTimeout means that the awaited state was not reached in time.
	ExitTimeout = 3
	// ExitHalted means that the rollout is halted. It differs from all others so that a script that rolls back does not
	// do so because the hub could not be reached.
	ExitHalted = 4
)

// exitHelp describes the exit statuses in the help of the program.
const exitHelp = "Exit status: 0 success, or the answer is yes; 1 failure; 2 the answer is no (`diff` found a\n" +
	"difference, `get --check` an application that is not ready, `rollout status` a rollout that is not over, `migrate` what it\n" +
	"refuses); 3 `wait` or `rollout status --watch` ran out of time; 4 the rollout of `rollout status` is halted."

// statusError is an error with an exit status.
type statusError struct {
	status int
	text   string
}

// Error implements error.
func (e *statusError) Error() string { return e.text }

// exitOf returns the exit status of an error.
func exitOf(err error) int {
	if said, ok := errors.AsType[*statusError](err); ok {
		return said.status
	}
	return ExitFailed
}

// advise adds what to do next to an error that does not say so.
func advise(err error) error {
	network, isNetwork := errors.AsType[*url.Error](err)
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w: the hub does not know who you are; check whether the credential in your kubeconfig is for this hub, and has not expired", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; ask an administrator of the hub for that right, or try `kubectl auth can-i --list`", err)
	case meta.IsNoMatchError(err):
		return fmt.Errorf("%w; check whether this is the hub: `kubectl api-resources` lists what it serves", err)
	case isNetwork && network.Timeout():
		return fmt.Errorf("%w; the hub did not answer in time, try again or see its log", err)
	case isNetwork:
		if _, dial := errors.AsType[*net.OpError](err); dial {
			return fmt.Errorf("%w; check whether the hub is running, and its address in your kubeconfig", err)
		}
	}
	return err
}
