package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/revision"
)

// ReadRevision reads the content of a revision of a rollout. The error is revision.ErrUnreadable if it
// is not kept any more, or if what is kept is not what the ID says.
func ReadRevision(ctx context.Context, r client.Reader, rollout metav1.Object, id revision.ID) (*revision.Kept, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: revision.SecretNamespace(rollout), Name: revision.SecretName(rollout, id.Number)}
	err := r.Get(ctx, key, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, unreadableError{fmt.Errorf("the content of r%d is lost, since there is no Secret %s: %w", id.Number, key, err)}
	case err != nil:
		return nil, fmt.Errorf("reading the content of r%d from Secret %s: %w", id.Number, key, err)
	}
	kept, err := revision.Decode(secret.Data[revision.SecretKey], id)
	if err != nil {
		return nil, unreadableError{fmt.Errorf("the content of r%d cannot be read from Secret %s: %w", id.Number, key, err)}
	}
	return kept, nil
}

// unreadableError is an error that is revision.ErrUnreadable, in words of its own.
type unreadableError struct{ error }

func (u unreadableError) Is(target error) bool { return target == revision.ErrUnreadable }

func (u unreadableError) Unwrap() error { return u.error }
