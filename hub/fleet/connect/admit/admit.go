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

// Refusal is the reason why a line is not opened, or is ended.
type Refusal struct {
	// Reason is the reason in the Status that the agent receives.
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
	// Found says that the Cluster exists.
	Found bool
	// Deleting says that the Cluster is being deleted.
	Deleting bool
	// Annotations are its annotations.
	Annotations map[string]string
}

// Open decides whether an agent may open, or keep, the line of the cluster of that name; nil if it may.
func Open(name string, agent Agent, cluster Cluster) *Refusal {
	if own, is := contract.AgentCluster(agent.User); !is || own != name {
		return &Refusal{metav1.StatusReasonForbidden, fmt.Sprintf("only the agent of %s may open its line, and %s is not that agent: use its certificate", name, agent.User)}
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
		return nil // the agent joined before joins had ids, so only its rights count
	}
	if joined.ID != "" && !slices.Contains(agent.Groups, contract.JoinGroup(joined.ID)) {
		return &Refusal{metav1.StatusReasonForbidden, fmt.Sprintf("%s has joined anew since this agent got its certificate: use the agent that joined last", name)}
	}
	return nil
}

// Lifetime has the facts that limit how long a line may stay open.
type Lifetime struct {
	// Opened is when the line was opened, and MaxAge how long the agent may keep it.
	Opened time.Time
	MaxAge time.Duration
	// Credential is the API server's identifier of the agent's certificate, with contract.CredentialIDPrefix; empty if
	// it gives none.
	Credential string
	// ClaimedExpiry is when the certificate expires according to the agent, which may claim anything.
	ClaimedExpiry string
	// Annotations are the annotations of the Cluster.
	Annotations map[string]string
}

// supersededFor is how long a line may stay that was opened with a certificate other than the latest one. An agent
// opens a new line soon after it gets a new certificate; whoever stole an old one must lose the line.
const supersededFor = time.Hour

// End returns when a line must end.
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
