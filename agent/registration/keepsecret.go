package registration

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// recheckSecret makes the next save compare the Secret in the member with the credentials.
func (k *rotator) recheckSecret() {
	if k.secretStore != nil {
		k.secretStore.Recheck()
	}
}

// saveToSecret saves changed credentials in the member. Its error is an ErrJoinedAgain.
func (k *rotator) saveToSecret(ctx context.Context) error {
	k.saveAt = time.Time{}
	if k.secretStore == nil {
		return nil
	}
	err := k.secretStore.Save(ctx, k.state.dir)
	switch {
	case err == nil:
		k.markPersisted()
	case errors.Is(err, ErrJoinedAgain):
		return err
	case apierrors.IsNotFound(err):
		k.markLost()
		k.logOnce(ctx, err, "The Secret in which this agent keeps its credentials is not in the member: a new pod would have no credentials. "+
			"Create an empty one with `kubectl create secret generic`, which the agent fills, or run `agent leave` if this cluster should leave")
		k.saveAt = k.clock.Now().Add(wait.Jitter(callEvery, 0.5))
	default:
		k.logOnce(ctx, err, "Could not find out whether the Secret has the credentials of this agent; the agent tries again")
		k.saveAt = k.clock.Now().Add(wait.Jitter(callEvery, 0.5))
	}
	return nil
}
