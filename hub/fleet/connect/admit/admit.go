package admit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/contract"
)

// Refusal is why a line is not opened, or does not stay.
type Refusal struct {
	// Reason is the reason of the answer.
	Reason metav1.StatusReason
	// Message is a sentence for people.
	Message string
}

// Agent is the agent that asks for a line.
type Agent struct {
	User   string
	Groups []string
}

// Cluster is the part of the agent's Cluster that the decision depends on.
type Cluster struct {
	// Found says that there is such a cluster.
	Found bool
	// Deleting says that it is being deleted.
	Deleting bool
	// Annotations are the annotations of the Cluster.
	Annotations map[string]string
}

// Open decides whether an agent may open the line of the cluster with a name, and whether a line may stay.
func Open(name string, agent Agent, cluster Cluster) *Refusal {
	if own, is := contract.AgentCluster(agent.User); !is || own != name {
		return &Refusal{metav1.StatusReasonForbidden, fmt.Sprintf("only the agent of %s opens its line, and %s is not: use the certificate of that agent", name, agent.User)}
	}
	switch {
	case !cluster.Found:
		return &Refusal{metav1.StatusReasonNotFound, fmt.Sprintf("there is no cluster %s: let the member join again with a new token", name)}
	case cluster.Annotations[contract.RetiredAnnotation] != "":
		return &Refusal{metav1.StatusReasonGone, fmt.Sprintf("%s was forgotten: let the member join again with a new token", name)}
	case cluster.Deleting:
		return &Refusal{metav1.StatusReasonGone, fmt.Sprintf("%s is being deleted", name)}
	}
	joined := struct {
		ID string `json:"id"`
	}{}
	if json.Unmarshal([]byte(cluster.Annotations[contract.JoinedAnnotation]), &joined) != nil {
		return nil // of a version that knew no joins; the rights of the agent decide
	}
	if joined.ID != "" && !slices.Contains(agent.Groups, contract.JoinGroup(joined.ID)) {
		return &Refusal{metav1.StatusReasonForbidden, fmt.Sprintf("%s has joined anew since this agent got its certificate: use the agent that joined last", name)}
	}
	return nil
}

// Lifetime has the facts that limit how long a line may stay open.
type Lifetime struct {
	// Opened is when it was opened, MaxAge is for how long an agent may keep it.
	Opened time.Time
	MaxAge time.Duration
	// Credential is how the API server names the certificate of the agent, with contract.CredentialIDPrefix; empty if it does
	// not.
	Credential string
	// ClaimedExpiry is when the certificate ends, as the agent says; it may be anything.
	ClaimedExpiry string
	// Annotations are the annotations of the Cluster.
	Annotations map[string]string
}

// supersededFor is for how long a line may stay that was opened with another certificate than the one issued last: an agent opens
// a new line soon after it has a new certificate, and who has taken an old one is to lose it.
const supersededFor = time.Hour

// End is when a line must end.
func End(l Lifetime) time.Time {
	end := l.Opened.Add(l.MaxAge)
	recorded := struct {
		Expires     time.Time `json:"expires"`
		Fingerprint string    `json:"fingerprint"`
	}{}
	err := json.Unmarshal([]byte(l.Annotations[contract.CertificateAnnotation]), &recorded)
	fingerprint, named := strings.CutPrefix(l.Credential, contract.CredentialIDPrefix)
	if err == nil && named && recorded.Fingerprint != "" && recorded.Fingerprint != fingerprint && l.Opened.Add(supersededFor).Before(end) {
		end = l.Opened.Add(supersededFor)
	}
	if err == nil && named && recorded.Fingerprint == fingerprint && !recorded.Expires.IsZero() && recorded.Expires.Before(end) {
		end = recorded.Expires
	}
	if said, err := time.Parse(time.RFC3339, l.ClaimedExpiry); err == nil && said.Before(end) {
		end = said
	}
	return end
}
