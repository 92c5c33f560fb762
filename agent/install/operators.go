package install

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/common/contract"
)

const (
	// versionTimeout bounds the request for the member's version.
	versionTimeout = 10 * time.Second
	// constrainedMinor is the minor version of Kubernetes 1 in which constrained impersonation appeared.
	constrainedMinor = 36
)

// Operators returns the member's ConfigMap about operators; nil if nobody was ever admitted.
func (i *Installer) Operators(ctx context.Context) (map[string]string, error) {
	settings := &corev1.ConfigMap{}
	err := i.memberClient.Get(ctx, client.ObjectKey{Namespace: contract.SystemNamespace, Name: contract.ConnectName}, settings)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading what operators may do in the member: %w", err)
	}
	return settings.Data, nil
}

// LetIn admits operators into the member as desired, and no others. It changes nothing if a namespace is missing.
func (i *Installer) LetIn(ctx context.Context, o manifest.Operators, tell func(string)) error {
	if err := i.findNamespaces(ctx, o); err != nil {
		return err
	}
	var objects []*unstructured.Unstructured
	if len(o.Who) > 0 {
		var err error
		if objects, err = manifest.OperatorObjects(o); err != nil {
			return err
		}
	}
	if err := i.keepLastWord(ctx, o, objects); err != nil {
		return err
	}
	if err := i.apply(ctx, objects, nil, tell); err != nil {
		return err
	}
	return i.removeOperators(ctx, objects)
}

// OperatorsLastWord returns the owner's last word about operators (contract.LastWordAnnotation); empty if there is
// none.
func (i *Installer) OperatorsLastWord(ctx context.Context) (string, error) {
	secret := &corev1.Secret{}
	err := i.memberClient.Get(ctx, client.ObjectKey{Namespace: contract.SystemNamespace, Name: manifest.Name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading what was said last of operators from Secret %s/%s of the member: %w", contract.SystemNamespace, manifest.Name, err)
	}
	return secret.Annotations[contract.LastWordAnnotation], nil
}

// keepLastWord stores the owner's word in the Secret, which no installer overwrites, before the word takes effect.
// Until it has, and if something else is restored later, the agent admits nobody. An agent that runs as a process has
// no Secret, and no installer that could restore anything.
func (i *Installer) keepLastWord(ctx context.Context, o manifest.Operators, objects []*unstructured.Unstructured) error {
	if !o.Said {
		return nil
	}
	var data map[string]string
	for _, u := range objects {
		if u.GetKind() == "ConfigMap" && u.GetName() == contract.ConnectName {
			var err error
			if data, _, err = unstructured.NestedStringMap(u.Object, "data"); err != nil {
				return fmt.Errorf("reading what operators are to do: %w", err)
			}
		}
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, contract.LastWordAnnotation, contract.LastWordOf(data))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: contract.SystemNamespace, Name: manifest.Name}}
	err := i.memberClient.Patch(ctx, secret, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(contract.FieldManagerInstall))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("keeping what is said of operators in Secret %s/%s of the member: %w", contract.SystemNamespace, manifest.Name, err)
	}
	return nil
}

// findNamespaces returns an error if a namespace into which operators are to be admitted is missing. RBAC cannot be
// written there, and half of the new permissions would hold beside half of the old ones.
func (i *Installer) findNamespaces(ctx context.Context, o manifest.Operators) error {
	for _, namespace := range o.In {
		err := i.memberClient.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{})
		switch {
		case namespace == contract.SystemNamespace && apierrors.IsNotFound(err): // it is created with the rest
		case apierrors.IsNotFound(err):
			return fmt.Errorf("namespace %s, into which operators should be let, is not in this cluster: create it, or leave it out; nothing was changed", namespace)
		case err != nil:
			return fmt.Errorf("looking for namespace %s, into which operators should be let: %w; nothing was changed", namespace, err)
		}
	}
	return nil
}

// IsLegacy returns whether the member's API server is too old for constrained impersonation, judged by its version.
func (i *Installer) IsLegacy(context.Context) (bool, error) {
	is, err := i.memberVersion.ServerVersion()
	if err != nil {
		return false, fmt.Errorf("asking the member for its version: %w", err)
	}
	minor, err := strconv.Atoi(strings.TrimRight(is.Minor, "+")) // some providers append a plus sign
	if err != nil {
		return false, fmt.Errorf("reading the version of the member, which is %q: %w", is.GitVersion, err)
	}
	return is.Major == "1" && minor < constrainedMinor, nil
}

// removeOperators removes the objects that admit operators, except those that stay. Bindings go first and the
// ConfigMap last: while it exists, whoever revokes the access again finds that something is left.
func (i *Installer) removeOperators(ctx context.Context, still []*unstructured.Unstructured) error {
	stays := namesOf(still)
	for _, list := range []client.ObjectList{
		&rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleList{}, &rbacv1.RoleList{}, &corev1.ServiceAccountList{}, &corev1.ConfigMapList{},
	} {
		if err := i.removeOthers(ctx, list, manifest.IsOfOperators, stays, "lets operators in"); err != nil {
			return err
		}
	}
	return nil
}
