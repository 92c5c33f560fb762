package joinsteps_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/people/dashboard/joinsteps"
	"fairlead.dev/test/builder"
)

const (
	done, now, later, failed = joinsteps.Done, joinsteps.Now, joinsteps.Later, joinsteps.Failed
)

func TestOf(t *testing.T) {
	t.Parallel()
	at := time.Unix(10_000, 0)
	good := bootstrap.Token{ID: "abcdef", Cluster: "oslo", MaxUses: 1, Expires: at.Add(time.Hour)}
	ended := good
	ended.Expires = at.Add(-time.Hour)
	request := func(condition certificatesv1.RequestConditionType, pending string) certificatesv1.CertificateSigningRequest {
		csr := certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{
			Name: "oslo-1", CreationTimestamp: metav1.NewTime(at), Annotations: map[string]string{contract.MemberIDAnnotation: "m-1", contract.PendingAnnotation: pending},
		}}
		if condition != "" {
			csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: condition, Message: "so it is"}}
		}
		return csr
	}
	issued := request(certificatesv1.CertificateApproved, "")
	issued.Status.Certificate = []byte("x")
	joined := builder.MakeCluster("oslo").Obj()
	joined.Spec.ID = "m-1"
	ready := joined.DeepCopy()
	ready.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue}}
	beat := metav1.NewMicroTime(at)
	lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &beat}}

	tests := map[string]struct {
		in    joinsteps.Input
		want  []joinsteps.State
		says  string
		step  int
		ready bool
	}{
		"nothing was done": {joinsteps.Input{}, []joinsteps.State{now, later, later, later, later, later}, "make a command first", 0, false},
		"a command is made": {
			joinsteps.Input{Tokens: []bootstrap.Token{good}}, []joinsteps.State{done, now, later, later, later, later}, "Run the command", 1, false,
		},
		"the command ended": {
			joinsteps.Input{Tokens: []bootstrap.Token{ended}}, []joinsteps.State{failed, later, later, later, later, later}, "make another", 0, false,
		},
		"the tokens may not be seen": {
			joinsteps.Input{Hidden: "join tokens"}, []joinsteps.State{done, now, later, later, later, later}, "may not see", 0, false,
		},
		"somebody is to accept it": {
			joinsteps.Input{Requests: []certificatesv1.CertificateSigningRequest{request("", "An operator is to accept it.")}},
			[]joinsteps.State{done, done, now, later, later, later},
			"An operator is to accept it.", 2, false,
		},
		"it was denied": {
			joinsteps.Input{Requests: []certificatesv1.CertificateSigningRequest{request(certificatesv1.CertificateDenied, "")}},
			[]joinsteps.State{done, done, failed, later, later, later},
			"so it is", 2, false,
		},
		"it was approved": {
			joinsteps.Input{Requests: []certificatesv1.CertificateSigningRequest{request(certificatesv1.CertificateApproved, "")}},
			[]joinsteps.State{done, done, done, now, later, later},
			"signs it", 3, false,
		},
		"it has its certificate": {
			joinsteps.Input{Requests: []certificatesv1.CertificateSigningRequest{issued}, Record: joined},
			[]joinsteps.State{done, done, done, done, now, later},
			"agent run", 4, false,
		},
		"its agent reports": {
			joinsteps.Input{Record: joined, Lease: lease}, []joinsteps.State{done, done, done, done, done, now}, "until the agent reports it", 5, false,
		},
		"it is ready, and the requests are gone": {
			joinsteps.Input{Record: ready, Lease: lease}, []joinsteps.State{done, done, done, done, done, done}, "", 5, true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			tc.in.Cluster, tc.in.Now = "oslo", at
			p := joinsteps.Decide(tc.in)
			var states []joinsteps.State
			for _, s := range p.Steps {
				states = append(states, s.State)
			}
			g.Expect(states).To(Equal(tc.want))
			g.Expect(p.Ready).To(Equal(tc.ready))
			g.Expect(p.Steps[tc.step].Text).To(ContainSubstring(tc.says))
			g.Expect(p.Steps[2].Approve).To(Equal(name == "somebody is to accept it"))
		})
	}
}
