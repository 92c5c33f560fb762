package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/revision"
)

// ReadRevision reads the content of a rollout's revision. The error is revision.ErrUnreadable if it is not stored any
// more, is incomplete, or does not match the ID.
func ReadRevision(ctx context.Context, r client.Reader, rollout metav1.Object, id revision.ID) (*revision.Kept, error) {
	opened, at, err := openRevision(ctx, r, rollout, id)
	if err != nil {
		return nil, err
	}
	return checkRevision(ctx, r, rollout, id, opened, at)
}

// ReadShownRevision reads what a person may read of a revision: if the rules of ClusterOverridePolicies are not
// readable, the result is Unshown and not verified.
func ReadShownRevision(ctx context.Context, r client.Reader, rollout metav1.Object, id revision.ID) (*revision.Kept, error) {
	opened, at, err := openRevision(ctx, r, rollout, id)
	if err != nil {
		return nil, err
	}
	kept, err := checkRevision(ctx, r, rollout, id, opened, at)
	if apierrors.IsForbidden(err) {
		return opened.Unchecked(), nil
	}
	return kept, err
}

// openRevision reads the Secret beside the rollout, and returns its key.
func openRevision(ctx context.Context, r client.Reader, rollout metav1.Object, id revision.ID) (*revision.Opened, client.ObjectKey, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: revision.SecretNamespace(rollout), Name: revision.SecretName(rollout, id.Number)}
	err := r.Get(ctx, key, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, key, unreadableError{fmt.Errorf("the content of r%d is lost, since there is no Secret %s: %w", id.Number, key, err)}
	case err != nil:
		return nil, key, fmt.Errorf("reading the content of r%d from Secret %s: %w", id.Number, key, err)
	}
	if secret.Type != revision.SecretType { // only the hub writes Secrets of that type
		return nil, key, notContent(id, key, fmt.Errorf("its type is %q and not %q, so that the hub did not write it", secret.Type, revision.SecretType))
	}
	opened, err := revision.Open(secret.Data[revision.SecretKey])
	if err != nil {
		return nil, key, notContent(id, key, err)
	}
	return opened, key, nil
}

// checkRevision reads the Secret with the rules, if there has to be one, and verifies the whole revision.
func checkRevision(
	ctx context.Context, r client.Reader, rollout metav1.Object, id revision.ID, opened *revision.Opened, at client.ObjectKey,
) (*revision.Kept, error) {
	var rules []byte
	if opened.RulesApart() {
		secret := &corev1.Secret{}
		key := client.ObjectKey{Namespace: contract.ClusterNamespace, Name: revision.RulesName(rollout, id.Number)}
		err := r.Get(ctx, key, secret)
		switch {
		case apierrors.IsNotFound(err):
			return nil, unreadableError{fmt.Errorf("the rules of ClusterOverridePolicies in r%d are lost, since there is no Secret %s: %w", id.Number, key, err)}
		case err != nil:
			return nil, fmt.Errorf("reading the rules of ClusterOverridePolicies in r%d from Secret %s: %w", id.Number, key, err)
		}
		rules = secret.Data[revision.RulesKey]
	}
	kept, err := opened.Check(id, rules)
	if err != nil {
		return nil, notContent(id, at, err)
	}
	return kept, nil
}

// notContent says that a Secret does not hold the content of a revision.
func notContent(id revision.ID, key client.ObjectKey, err error) error {
	return unreadableError{fmt.Errorf("the content of r%d cannot be read from Secret %s: %w", id.Number, key, err)}
}

// unreadableError matches revision.ErrUnreadable and has its own message.
type unreadableError struct{ error }

func (u unreadableError) Is(target error) bool { return target == revision.ErrUnreadable }

func (u unreadableError) Unwrap() error { return u.error }
