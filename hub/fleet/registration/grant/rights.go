package grant

import (
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration/record"
)

// leaseDurationSeconds is how long a renewal of the lease holds.
const leaseDurationSeconds = 40

// Rights are the objects that give an agent its rights. All of them are garbage-collected with the Cluster: it owns the
// ClusterRole and its binding, and these own what is in namespaces (see Own).
type Rights struct {
	// Cluster lets the agent report the status of its member.
	Cluster        *rbacv1.ClusterRole
	ClusterBinding *rbacv1.ClusterRoleBinding
	// Works lets the agent apply its Works, in its execution namespace.
	Works        *rbacv1.Role
	WorksBinding *rbacv1.RoleBinding
	// Lease lets the agent renew its lease.
	Lease        *rbacv1.Role
	LeaseBinding *rbacv1.RoleBinding
	// Heartbeat is the lease itself. The hub creates it, because RBAC cannot restrict the right to create to one name.
	Heartbeat *coordinationv1.Lease
}

// The names of the objects.
const (
	prefix      = "system:karmada:"
	suffix      = ":agent"
	worksSuffix = suffix + "-work"
	leaseSuffix = suffix + "-lease"
)

// To returns the rights of the agent of a cluster with this execution namespace. The namespaced objects have no owner
// yet: see Own.
func To(cluster *clusterv1alpha1.Cluster, executionNamespace string) Rights {
	at := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{contract.SystemLabel: contract.LabelTrue}}
	}
	subjects := func() []rbacv1.Subject { return agentOf(cluster) }
	ref := func(kind, name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	works := func() metav1.ObjectMeta { return at(executionNamespace, prefix+cluster.Name+worksSuffix) }
	lease := func() metav1.ObjectMeta { return at(contract.ClusterNamespace, prefix+cluster.Name+leaseSuffix) }
	own := func() metav1.ObjectMeta {
		out := at("", prefix+cluster.Name+suffix)
		out.OwnerReferences = owner(clusterv1alpha1.GroupVersion.String(), clusterv1alpha1.KindCluster, cluster)
		return out
	}
	return Rights{
		Works:          &rbacv1.Role{ObjectMeta: works(), Rules: worksRules()},
		WorksBinding:   &rbacv1.RoleBinding{ObjectMeta: works(), Subjects: subjects(), RoleRef: ref("Role", works().Name)},
		Lease:          &rbacv1.Role{ObjectMeta: lease(), Rules: leaseRules(cluster.Name)},
		LeaseBinding:   &rbacv1.RoleBinding{ObjectMeta: lease(), Subjects: subjects(), RoleRef: ref("Role", lease().Name)},
		Cluster:        &rbacv1.ClusterRole{ObjectMeta: own(), Rules: clusterRules(cluster.Name)},
		ClusterBinding: &rbacv1.ClusterRoleBinding{ObjectMeta: own(), Subjects: subjects(), RoleRef: ref("ClusterRole", own().Name)},
		Heartbeat: &coordinationv1.Lease{ObjectMeta: at(contract.ClusterNamespace, cluster.Name), Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       new(cluster.Name),
			LeaseDurationSeconds: new(int32(leaseDurationSeconds)),
		}},
	}
}

// Own sets the owners of the namespaced objects, to the ClusterRole and its binding as they exist on the hub: one owner
// per namespace.
//
// The garbage collector of Kubernetes hears of owners and dependents in any order. It assumes that an unknown owner is
// in the namespace of the first dependent that names it, and if another dependent is elsewhere it reads both from the
// API. If all of an agent's rights named the Cluster as their owner, each hub start would cost eleven such requests per
// agent, while thousands of agents reconnect.
func (r Rights) Own(role *rbacv1.ClusterRole, binding *rbacv1.ClusterRoleBinding) {
	ofRole := owner(rbacv1.SchemeGroupVersion.String(), "ClusterRole", role)
	r.Heartbeat.OwnerReferences, r.Lease.OwnerReferences, r.LeaseBinding.OwnerReferences = ofRole, ofRole, ofRole
	// When a cluster is forgotten its bindings are deleted first, but its lease must stay until the Cluster is gone.
	ofBinding := owner(rbacv1.SchemeGroupVersion.String(), "ClusterRoleBinding", binding)
	r.Works.OwnerReferences, r.WorksBinding.OwnerReferences = ofBinding, ofBinding
}

func owner(apiVersion, kind string, of metav1.Object) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: of.GetName(), UID: of.GetUID(), Controller: new(true)}}
}

// ClusterOf returns the cluster whose agent has the right, or lease, of that namespace and name; false if it is
// neither.
func ClusterOf(namespace, name string) (string, bool) {
	of, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return name, namespace == contract.ClusterNamespace
	}
	for _, end := range []string{worksSuffix, leaseSuffix, suffix} {
		if cluster, ok := strings.CutSuffix(of, end); ok {
			return cluster, true
		}
	}
	return "", false
}

// agentOf returns the subjects that have the rights of a Cluster: holders of a certificate of its latest join, and
// nobody before the first join. An agent that joined before joins had ids has them by its name.
func agentOf(cluster *clusterv1alpha1.Cluster) []rbacv1.Subject {
	joined := record.Read[record.Joined](cluster.Annotations, contract.JoinedAnnotation)
	switch {
	case joined == nil:
		return nil
	case joined.ID == "":
		return []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: contract.AgentUser(cluster.Name)}}
	default:
		return []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: contract.JoinGroup(joined.ID)}}
	}
}

func worksRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"work.karmada.io"}, Resources: []string{"works"}, Verbs: []string{"get", "list", "watch", "patch", "update"}},
		{APIGroups: []string{"work.karmada.io"}, Resources: []string{"works/status"}, Verbs: []string{"get", "patch", "update"}},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}
}

func leaseRules(cluster string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{
		APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{cluster},
		Verbs: []string{"get", "update", "patch", "watch"},
	}}
}

func clusterRules(cluster string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{
			APIGroups: []string{"cluster.karmada.io"}, Resources: []string{"clusters"}, ResourceNames: []string{cluster},
			Verbs: []string{"get", "list", "watch"},
		},
		{
			APIGroups: []string{"cluster.karmada.io"}, Resources: []string{"clusters/status"}, ResourceNames: []string{cluster},
			Verbs: []string{"get", "patch", "update"},
		},
		{
			// RBAC cannot restrict the right to create to one name; an admission policy does.
			APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create"},
		},
		{
			APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"},
			ResourceNames: []string{contract.RenewalRequest(cluster)}, Verbs: []string{"get", "delete"},
		},
		{
			// The agent's own line, through which the hub sends it requests.
			APIGroups: []string{contract.ConnectGroup}, Resources: []string{contract.LinesResource + "/" + contract.AttachSubresource},
			ResourceNames: []string{cluster}, Verbs: []string{"create"},
		},
		{
			APIGroups: []string{"config.karmada.io"}, Resources: []string{"resourceinterpretercustomizations", "resourceinterpreterwebhookconfigurations"},
			Verbs: []string{"get", "list", "watch"},
		},
	}
}
