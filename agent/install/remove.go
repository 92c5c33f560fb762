package install

import (
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/common/contract"
)

// Remove removes the agent's objects, found by label: in its own namespace everything, elsewhere only the RBAC of the
// agent and of operators. Other labelled objects elsewhere are copies, from a backup for instance. The namespace
// stays, since it may hold objects of others. The Secrets go last: without the agent's state, an interrupted command
// could not be repeated.
func (i *Installer) Remove(ctx context.Context) error {
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &corev1.ConfigMapList{}, &corev1.PersistentVolumeClaimList{}, &networkingv1.NetworkPolicyList{}, &rbacv1.RoleBindingList{}, &rbacv1.RoleList{},
		&rbacv1.ClusterRoleBindingList{}, &rbacv1.ClusterRoleList{}, &corev1.ServiceAccountList{}, &corev1.SecretList{},
	} {
		if err := i.removeOthers(ctx, list, isOfAgent, nil, "is of the agent"); err != nil {
			return err
		}
	}
	return nil
}

// isOfAgent returns whether a name is that of an object of the agent, or of one that admits operators.
func isOfAgent(name string) bool {
	return strings.HasPrefix(name, manifest.Name) || manifest.IsOfOperators(name)
}

// ofAgent returns the options to list the agent's objects of a kind: RBAC in any namespace, everything else in its
// own.
func ofAgent(list client.ObjectList) []client.ListOption {
	options := []client.ListOption{client.MatchingLabels{manifest.NameLabel: manifest.Name}}
	switch list.(type) {
	case *rbacv1.RoleBindingList, *rbacv1.RoleList, *rbacv1.ClusterRoleBindingList, *rbacv1.ClusterRoleList:
		return options
	default:
		return append(options, client.InNamespace(contract.SystemNamespace))
	}
}
