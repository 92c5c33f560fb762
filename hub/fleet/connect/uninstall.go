package connect

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

// Uninstall removes what Install created, for a hub that serves no lines: a group without a server breaks discovery,
// and with it every deletion of a namespace. It leaves objects that somebody else created, and those that this hub may
// not see. It says whether there was anything to remove.
func Uninstall(ctx context.Context, hub client.Client) (bool, error) {
	api := &unstructured.Unstructured{}
	api.SetAPIVersion("apiregistration.k8s.io/v1")
	api.SetKind("APIService")
	switch err := hub.Get(ctx, client.ObjectKey{Name: contract.ConnectVersion + "." + contract.ConnectGroup}, api); {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), meta.IsNoMatchError(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("looking for the APIService of lines: %w", err)
	case api.GetLabels()[contract.SystemLabel] != contract.LabelTrue:
		return false, nil
	}
	// First what clients see. If this is interrupted, the rest does no harm.
	namespace, _, _ := unstructured.NestedString(api.Object, "spec", "service", "namespace")
	if err := remove(ctx, hub, "APIService", api); err != nil {
		return false, err
	}
	leftovers := map[string]client.Object{
		"Service": &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: EmbeddedService}},
		"Secret":  &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: certificateSecret}},
	}
	for kind, o := range leftovers {
		err := hub.Get(ctx, client.ObjectKeyFromObject(o), o)
		if err != nil || o.GetLabels()[contract.SystemLabel] != contract.LabelTrue {
			continue
		}
		if err := remove(ctx, hub, kind, o); err != nil {
			return true, err
		}
	}
	return true, nil
}

// remove deletes an object with the UID that was read, so that one that another hub has since created stays.
func remove(ctx context.Context, hub client.Client, kind string, o client.Object) error {
	uid := o.GetUID()
	err := hub.Delete(ctx, o, client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing %s %q of lines: %w", kind, o.GetName(), err)
	}
	return nil
}
