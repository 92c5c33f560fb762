package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

// NamespaceNamed returns a Namespace, which must not be changed; nil if the name is empty or the Namespace does not
// exist. A Namespace missing from the cache is read live: objects in a new namespace may arrive before it, and its
// annotations restrict their clusters.
func NamespaceNamed(ctx context.Context, cached, live client.Reader, name string) (*corev1.Namespace, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // There is none.
	}
	ns, key := &corev1.Namespace{}, client.ObjectKey{Name: name}
	err := cached.Get(ctx, key, ns, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		err = live.Get(ctx, key, ns)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // It is gone, and what was in it goes.
	case err != nil:
		return nil, fmt.Errorf("reading Namespace %q: %w", name, err)
	}
	return ns, nil
}

// NamespaceEnds reads whether a namespace is being deleted, or gone, for a reader that asks the API server itself: what is in it goes one kind
// after the other, in no particular order, and the watch of any of these kinds may be ahead of that of Namespaces.
func NamespaceEnds(ctx context.Context, live client.Reader, name string) (bool, error) {
	ns := &corev1.Namespace{}
	err := live.Get(ctx, client.ObjectKey{Name: name}, ns)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading Namespace %q live: %w", name, err)
	}
	return !ns.DeletionTimestamp.IsZero(), nil
}

// AllowanceChanged says whether a change of a Namespace changes which clusters its objects may use.
func AllowanceChanged(before, after metav1.Object) bool {
	was, did := before.GetAnnotations()[contract.ClustersAnnotation]
	is, does := after.GetAnnotations()[contract.ClustersAnnotation]
	return did != does || was != is
}

// IsNamespaceEnding returns whether an object could not be created because its namespace is terminating.
func IsNamespaceEnding(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
