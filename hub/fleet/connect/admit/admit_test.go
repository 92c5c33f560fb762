package admit

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/contract"
)

func TestOpen(t *testing.T) {
	agent := Agent{User: contract.AgentUser("edge-1"), Groups: []string{contract.JoinGroup("j2")}}
	joined := map[string]string{contract.JoinedAnnotation: `{"id":"j2"}`}
	for name, c := range map[string]struct {
		agent   Agent
		cluster Cluster
		want    metav1.StatusReason
	}{
		"the agent of the cluster may":                  {agent, Cluster{Found: true, Annotations: joined}, ""},
		"one of a version that knew no joins may":       {Agent{User: agent.User}, Cluster{Found: true}, ""},
		"that of another may not":                       {Agent{User: contract.AgentUser("edge-2")}, Cluster{Found: true}, metav1.StatusReasonForbidden},
		"an administrator may not":                      {Agent{User: "admin", Groups: []string{"system:masters"}}, Cluster{Found: true}, metav1.StatusReasonForbidden},
		"that of an earlier join may not":               {Agent{User: agent.User, Groups: []string{contract.JoinGroup("j1")}}, Cluster{Found: true, Annotations: joined}, metav1.StatusReasonForbidden},
		"there is no line to a cluster that is not":     {agent, Cluster{}, metav1.StatusReasonNotFound},
		"nor to one that was forgotten":                 {agent, Cluster{Found: true, Annotations: map[string]string{contract.RetiredAnnotation: "{}"}}, metav1.StatusReasonGone},
		"nor to one that is being deleted":              {agent, Cluster{Found: true, Deleting: true}, metav1.StatusReasonGone},
		"who may not is not told whether there is such": {Agent{User: "bob"}, Cluster{}, metav1.StatusReasonForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := Open("edge-1", c.agent, c.cluster)
			if c.want == "" {
				g.Expect(got).To(BeNil())
				return
			}
			g.Expect(got).NotTo(BeNil())
			g.Expect(got.Reason).To(Equal(c.want))
			g.Expect(got.Message).To(ContainSubstring("edge-1"))
		})
	}
}

func TestEnd(t *testing.T) {
	opened := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	recorded := map[string]string{contract.CertificateAnnotation: `{"fingerprint":"ab","expires":"2026-11-23T12:00:00Z"}`}
	for name, c := range map[string]struct {
		credential, said string
		want             time.Duration
	}{
		"the hub knows the certificate":                    {credential: contract.CredentialIDPrefix + "ab", want: 4 * time.Hour},
		"it is one issued before":                          {credential: contract.CredentialIDPrefix + "cd", want: time.Hour},
		"it is one issued before, and the agent tells":     {credential: contract.CredentialIDPrefix + "cd", said: "2026-11-23T08:30:00Z", want: time.Hour / 2},
		"nobody says anything":                             {want: 24 * time.Hour},
		"an agent cannot make it later than the hub knows": {credential: contract.CredentialIDPrefix + "ab", said: "2030-01-01T00:00:00Z", want: 4 * time.Hour},
		"nor later than the line may be old":               {said: "2030-01-01T00:00:00Z", want: 24 * time.Hour},
		"what the agent says may be no time":               {said: "tomorrow", want: 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			got := End(Lifetime{Opened: opened, MaxAge: 24 * time.Hour, Credential: c.credential, ClaimedExpiry: c.said, Annotations: recorded})
			NewWithT(t).Expect(got.Sub(opened)).To(Equal(c.want))
		})
	}
}
