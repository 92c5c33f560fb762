// Package joinsteps reports the progress of a join. It is pure: what the hub knows goes in, the steps come out.
package joinsteps

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration/record"
)

// State is the state of a step. Its values are CSS classes.
type State string

// The states of a step.
const (
	Done   State = "done"
	Now    State = "now"
	Later  State = "later"
	Failed State = "failed"
)

// Step is a step on the way to a ready cluster.
type Step struct {
	State State
	// Title says what happens, and Text gives details.
	Title, Text string
	// At is when it was done; zero if unknown.
	At time.Time
	// Approve says that somebody must accept the join, and Request is the UID of the request.
	Approve bool
	Request types.UID
}

// Input has the objects from which the progress is derived. They are not changed.
type Input struct {
	Cluster string
	// Tokens are the tokens that admit the cluster.
	Tokens []bootstrap.Token
	// Requests are the certificate signing requests in the name of the cluster.
	Requests []certificatesv1.CertificateSigningRequest
	// Record is the Cluster; nil if it does not exist yet.
	Record *clusterv1alpha1.Cluster
	// Lease is the lease of its agent; nil if it does not exist.
	Lease *coordinationv1.Lease
	// Hidden says in words what the person may not read; empty if nothing.
	Hidden string
	Now    time.Time
}

// Progress is the progress of a join.
type Progress struct {
	Cluster string
	Steps   []Step
	// Ready says that the join is complete and the cluster is ready.
	Ready bool
	// Hidden says in words what the person may not see.
	Hidden string
}

// Decide returns the progress of a join.
func Decide(in Input) Progress {
	joined := in.Record != nil && in.Record.Spec.ID != ""
	last := latest(in.Requests)
	steps := []Step{
		token(in, joined || last != nil),
		asked(last, joined),
		accepted(last, joined),
		certified(last, joined, in.Record),
		heard(in.Lease, in.Record),
		ready(in.Record),
	}
	// The first step that is not done is the present one.
	out := Progress{Cluster: in.Cluster, Hidden: in.Hidden, Ready: true}
	for i := range steps {
		switch {
		case steps[i].State == Done:
		case !out.Ready && steps[i].State == Now:
			steps[i].State, steps[i].Text = Later, ""
			steps[i].Approve = false
		default:
			out.Ready = false
		}
	}
	out.Steps = steps
	return out
}

// latest returns the newest request; nil if there is none.
func latest(requests []certificatesv1.CertificateSigningRequest) *certificatesv1.CertificateSigningRequest {
	if len(requests) == 0 {
		return nil
	}
	one := slices.MaxFunc(requests, func(a, b certificatesv1.CertificateSigningRequest) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return &one
}

func token(in Input, used bool) Step {
	s := Step{Title: "A join command is made", State: Done}
	if used {
		return s
	}
	for _, t := range in.Tokens {
		switch {
		case t.Expired(in.Now):
			s.State, s.Text = Failed, fmt.Sprintf("Token %s ended without being used; make another command.", t.ID)
		case t.UsesLeft() == 0:
			s.State, s.Text = Failed, fmt.Sprintf("Token %s is used up; make another command.", t.ID)
		default:
			return Step{Title: s.Title, State: Done, Text: "It is good until " + t.Expires.UTC().Format("2006-01-02 15:04 UTC") + "."}
		}
	}
	if len(in.Tokens) == 0 {
		s.State, s.Text = Now, "There is no token for this name; make a command first."
		if in.Hidden != "" {
			s.State, s.Text = Done, "You may not see whether there still is one."
		}
	}
	return s
}

func asked(last *certificatesv1.CertificateSigningRequest, joined bool) Step {
	s := Step{Title: "The member asks to join", State: Now, Text: "Run the command where the cluster’s kubeconfig is. The agent prints its progress there."}
	switch {
	case last != nil:
		return Step{Title: s.Title, State: Done, At: last.CreationTimestamp.Time, Text: "Its id is " + cmp.Or(last.Annotations[contract.MemberIDAnnotation], "not told") + "."}
	case joined:
		return Step{Title: s.Title, State: Done}
	}
	return s
}

func accepted(last *certificatesv1.CertificateSigningRequest, joined bool) Step {
	s := Step{Title: "The hub lets it in", State: Now, Text: "The hub compares token, name and member."}
	if last == nil {
		if joined {
			s.State, s.Text = Done, ""
		}
		return s
	}
	for _, c := range last.Status.Conditions {
		switch c.Type {
		case certificatesv1.CertificateApproved:
			return Step{Title: s.Title, State: Done, At: c.LastUpdateTime.Time, Text: c.Message}
		case certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			return Step{Title: s.Title, State: Failed, At: c.LastUpdateTime.Time, Text: c.Message}
		}
	}
	if why := last.Annotations[contract.PendingAnnotation]; why != "" {
		s.Text, s.Approve, s.Request = why, last.Annotations[contract.AcceptedAnnotation] == "", last.UID
	}
	return s
}

func certified(last *certificatesv1.CertificateSigningRequest, joined bool, c *clusterv1alpha1.Cluster) Step {
	s := Step{Title: "The agent gets its certificate and its rights", State: Now, Text: "The hub signs it and makes the Cluster."}
	if c != nil {
		if how := record.Read[record.Joined](c.Annotations, contract.JoinedAnnotation); how != nil {
			s.At = how.At
		}
	}
	if joined && (last == nil || len(last.Status.Certificate) > 0) {
		s.State, s.Text = Done, ""
	}
	return s
}

func heard(lease *coordinationv1.Lease, c *clusterv1alpha1.Cluster) Step {
	s := Step{Title: "The agent reports", State: Now, Text: "Waiting for the first heartbeat; `agent run` must be running in the member."}
	switch {
	case lease != nil && lease.Spec.RenewTime != nil:
		return Step{Title: s.Title, State: Done, At: lease.Spec.RenewTime.Time}
	case c != nil && readiness(c) != nil && readiness(c).Status != metav1.ConditionUnknown:
		return Step{Title: s.Title, State: Done}
	}
	return s
}

func ready(c *clusterv1alpha1.Cluster) Step {
	s := Step{Title: "The cluster is ready", State: Now, Text: "Waiting until the agent reports it."}
	if c == nil {
		return s
	}
	if r := readiness(c); r != nil {
		s.Text = r.Message
		if r.Status == metav1.ConditionTrue {
			return Step{Title: s.Title, State: Done, At: r.LastTransitionTime.Time}
		}
	}
	return s
}

func readiness(c *clusterv1alpha1.Cluster) *metav1.Condition {
	return meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
}

// TokensFor returns the join tokens among the Secrets that admit a cluster.
func TokensFor(cluster string, secrets []corev1.Secret) []bootstrap.Token {
	var out []bootstrap.Token
	for i := range secrets {
		if t, err := bootstrap.FromSecret(&secrets[i]); err == nil && t.Admits(cluster) {
			out = append(out, t)
		}
	}
	return out
}
