package grant

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration/record"
)

// leaseDurationSeconds is for how long a renewal holds.
const leaseDurationSeconds = 40

// Rights are the objects that give an agent what it may do. All of them belong to the
// Cluster and vanish with it.
type Rights struct {
	// Works lets the agent handle its Works, in its execution namespace.
	Works        *rbacv1.Role
	WorksBinding *rbacv1.RoleBinding
	// Lease lets the agent renew its lease.
	Lease        *rbacv1.Role
	LeaseBinding *rbacv1.RoleBinding
	// Cluster lets the agent report about its member.
	Cluster        *rbacv1.ClusterRole
	ClusterBinding *rbacv1.ClusterRoleBinding
	// Heartbeat is the lease itself. It is made here, because the right to create
	// cannot be given for one name only.
	Heartbeat *coordinationv1.Lease
}

// To returns the rights of the agent of a cluster whose Works are in a namespace.
func To(cluster *clusterv1alpha1.Cluster, executionNamespace string) Rights {
	agent := "system:karmada:" + cluster.Name + ":agent"
	at := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: namespace,
			Name:      name,
			Labels:    map[string]string{contract.SystemLabel: contract.LabelTrue},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: clusterv1alpha1.GroupVersion.String(),
				Kind:       clusterv1alpha1.KindCluster,
				Name:       cluster.Name,
				UID:        cluster.UID,
				Controller: new(true),
			}},
		}
	}
	subjects := func() []rbacv1.Subject { return agentOf(cluster) }
	ref := func(kind, name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	works := func() metav1.ObjectMeta { return at(executionNamespace, agent+"-work") }
	lease := func() metav1.ObjectMeta { return at(contract.ClusterNamespace, agent+"-lease") }
	own := func() metav1.ObjectMeta { return at("", agent) }
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
