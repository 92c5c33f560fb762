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

// leaseDurationSeconds is for how long a renewal holds.
const leaseDurationSeconds = 40

// Rights are the objects that give an agent what it may do. All of them belong to the Cluster and vanish with it: the ClusterRole and its
// binding by themselves, what is in a namespace with one of these two (see Own).
type Rights struct {
	// Cluster lets the agent report about its member.
	Cluster        *rbacv1.ClusterRole
	ClusterBinding *rbacv1.ClusterRoleBinding
	// Works lets the agent handle its Works, in its execution namespace.
	Works        *rbacv1.Role
	WorksBinding *rbacv1.RoleBinding
	// Lease lets the agent renew its lease.
	Lease        *rbacv1.Role
	LeaseBinding *rbacv1.RoleBinding
	// Heartbeat is the lease itself. It is made here, because the right to create
	// cannot be given for one name only.
	Heartbeat *coordinationv1.Lease
}

// How the objects are named.
const (
	prefix      = "system:karmada:"
	suffix      = ":agent"
	worksSuffix = suffix + "-work"
	leaseSuffix = suffix + "-lease"
)

// To returns the rights of the agent of a cluster whose Works are in a namespace. What is in a namespace belongs to nobody yet: see Own.
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

// Own has what is in namespaces belong to the ClusterRole and its binding, as they are on the hub: to each what is in one namespace.
//
// The garbage collector of Kubernetes hears of owners and of what they own in any order. It takes an owner that it has not heard of to be in
// the namespace of the first object that names it, and when another one is elsewhere it reads both from the API. If all of an agent's rights
// named the Cluster it would make eleven requests for each of them whenever a hub is started, while thousands of agents come back.
func (r Rights) Own(role *rbacv1.ClusterRole, binding *rbacv1.ClusterRoleBinding) {
	ofRole := owner(rbacv1.SchemeGroupVersion.String(), "ClusterRole", role)
	r.Heartbeat.OwnerReferences, r.Lease.OwnerReferences, r.LeaseBinding.OwnerReferences = ofRole, ofRole, ofRole
	// A cluster that is forgotten loses its bindings first: its lease stays until the Cluster goes.
	ofBinding := owner(rbacv1.SchemeGroupVersion.String(), "ClusterRoleBinding", binding)
	r.Works.OwnerReferences, r.WorksBinding.OwnerReferences = ofBinding, ofBinding
}

func owner(apiVersion, kind string, of metav1.Object) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: of.GetName(), UID: of.GetUID(), Controller: new(true)}}
}

// ClusterOf returns the cluster whose agent has a right, or a lease, of that namespace and name; false if it is none of these.
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

// agentOf is who has the rights of a Cluster: whoever has a certificate of the join that was last,
// and nobody before the first. The agent of a version that knew no joins has them by its name.
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
			// The right to create cannot be given for one name only; an admission policy holds
			// that there is no other.
			APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create"},
		},
		{
			APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"},
			ResourceNames: []string{contract.RenewalRequest(cluster)}, Verbs: []string{"get", "delete"},
		},
		{
			// Its own line, through which the hub sends requests back.
			APIGroups: []string{contract.ConnectGroup}, Resources: []string{contract.LinesResource + "/" + contract.AttachSubresource},
			ResourceNames: []string{cluster}, Verbs: []string{"create"},
		},
		{
			APIGroups: []string{"config.karmada.io"}, Resources: []string{"resourceinterpretercustomizations", "resourceinterpreterwebhookconfigurations"},
			Verbs: []string{"get", "list", "watch"},
		},
	}
}
