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

// NamespaceNamed returns a Namespace, which must not be changed; nil if the name is empty or the Namespace does not exist. A Namespace that
// is not in the cache is read live: objects of a new namespace may arrive before it, and its annotations say which clusters they may use.
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

// AllowanceChanged says whether a change of a Namespace changes which clusters its objects may use.
func AllowanceChanged(before, after metav1.Object) bool {
	was, did := before.GetAnnotations()[contract.ClustersAnnotation]
	is, does := after.GetAnnotations()[contract.ClustersAnnotation]
	return did != does || was != is
}
