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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/common/contract"
)

const (
	// versionTimeout is how long the member may take to say of which version it is.
	versionTimeout = 10 * time.Second
	// constrainedMinor is the minor version of Kubernetes 1 from which on API servers know constrained impersonation.
	constrainedMinor = 36
)

// Operators returns what the member keeps of what operators may do; nil if nobody was ever let in.
func (i *Installer) Operators(ctx context.Context) (map[string]string, error) {
	settings := &corev1.ConfigMap{}
	err := i.memberClient.Get(ctx, client.ObjectKey{Namespace: contract.SystemNamespace, Name: contract.ConnectName}, settings)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading what operators may do in the member: %w", err)
	}
	return settings.Data, nil
}

// LetIn lets operators into the member as is wished, and no others any more. Nothing is changed if a namespace is not there.
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

// OperatorsLastWord returns what the owner of the member said last of operators (contract.LastWordAnnotation); empty if nothing is known of
// that.
func (i *Installer) OperatorsLastWord(ctx context.Context) (string, error) {
	secret := &corev1.Secret{}
	err := i.memberClient.Get(ctx, client.ObjectKey{Namespace: contract.SystemNamespace, Name: manifest.Name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading what was said last of operators from Secret %s/%s of the member: %w", contract.SystemNamespace, manifest.Name, err)
	}
	return secret.Annotations[contract.LastWordAnnotation], nil
}

// keepLastWord keeps what the owner says of operators where nothing that installs agents writes, before it is done: until it is, and if
// something else is put back later, the agent lets nobody in. One that runs as a process has no Secret there, and nothing installs it.
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

// findNamespaces says which of the namespaces that operators are to be let into is not there. Their rights cannot be written then, and
// half of what is wished would hold beside half of what held before.
func (i *Installer) findNamespaces(ctx context.Context, o manifest.Operators) error {
	for _, namespace := range o.In {
		err := i.memberClient.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{})
		switch {
		case namespace == contract.SystemNamespace && apierrors.IsNotFound(err): // it comes with the rest
		case apierrors.IsNotFound(err):
			return fmt.Errorf("operators are to be let into namespace %s, which is not in this cluster: create it, or leave it out; nothing was changed", namespace)
		case err != nil:
			return fmt.Errorf("looking for namespace %s, into which operators are to be let: %w; nothing was changed", namespace, err)
		}
	}
	return nil
}

// IsLegacy says whether the member's API server knows no constrained impersonation, by its version.
func (i *Installer) IsLegacy(context.Context) (bool, error) {
	is, err := i.memberVersion.ServerVersion()
	if err != nil {
		return false, fmt.Errorf("asking the member for its version: %w", err)
	}
	minor, err := strconv.Atoi(strings.TrimRight(is.Minor, "+")) // some providers write one behind it
	if err != nil {
		return false, fmt.Errorf("reading the version of the member, which is %q: %w", is.GitVersion, err)
	}
	return is.Major == "1" && minor < constrainedMinor, nil
}

// removeOperators removes what let operators in, but for what is still to be there. The bindings go first, and the settings last: while they
// are there, whoever takes it all back finds that there is something to take back.
func (i *Installer) removeOperators(ctx context.Context, still []*unstructured.Unstructured) error {
	stays := map[string]bool{}
	for _, u := range still {
		stays[u.GetKind()+" "+name(u)] = true
	}
	for kind, list := range map[string]client.ObjectList{"ClusterRoleBinding": &rbacv1.ClusterRoleBindingList{}, "RoleBinding": &rbacv1.RoleBindingList{}} {
		if err := i.removeOthers(ctx, kind, list, stays); err != nil {
			return err
		}
	}
	for kind, list := range map[string]client.ObjectList{
		"ClusterRole": &rbacv1.ClusterRoleList{}, "Role": &rbacv1.RoleList{}, "ServiceAccount": &corev1.ServiceAccountList{},
	} {
		if err := i.removeOthers(ctx, kind, list, stays); err != nil {
			return err
		}
	}
	return i.removeOthers(ctx, "ConfigMap", &corev1.ConfigMapList{}, stays)
}

func (i *Installer) removeOthers(ctx context.Context, kind string, list client.ObjectList, stays map[string]bool) error {
	if err := i.memberClient.List(ctx, list, client.MatchingLabels{manifest.NameLabel: manifest.Name}); err != nil {
		return fmt.Errorf("looking for what lets operators into the member: %w", err)
	}
	return meta.EachListItem(list, func(obj runtime.Object) error {
		o, ok := obj.(client.Object)
		if !ok || !manifest.IsOfOperators(o.GetName()) {
			return nil
		}
		full := client.ObjectKeyFromObject(o).String()
		if o.GetNamespace() == "" {
			full = o.GetName()
		}
		if stays[kind+" "+full] {
			return nil
		}
		if err := i.memberClient.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("removing %s %s, which lets operators into the member: %w", kind, full, err)
		}
		return nil
	})
}
