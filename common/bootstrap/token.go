package bootstrap

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/common/contract"
)

// Lengths of the two parts of a token, given by Kubernetes.
const (
	idLength     = 6
	secretLength = 16
)

// MaxUses is the largest number of joins that one token may be good for: each leaves its
// mark on the token, and there must be room for all.
const MaxUses = 1000

// Token lets clusters join the hub.
type Token struct {
	// ID is public: it is part of the name of the token's Secret and of the user name
	// of whoever presents the token.
	ID string
	// Secret is the secret half of the token.
	Secret string
	// Cluster is the one cluster that may join, or a pattern of names. It is empty in a
	// token that somebody else made, which lets nobody join.
	Cluster string
	// Member is the id of the only member that may join; empty if any may.
	Member string
	// MaxUses is how many joins it is good for.
	MaxUses int
	// Expires is when the token ends; zero means never.
	Expires time.Time
	// Manual says that an operator is to accept each join.
	Manual bool
	// Closed says why it opens nothing any more though it is not used up; empty if it does.
	Closed string
	// Gives are the defaults that a Cluster gets that joins with the token.
	Gives ClusterDefaults
	// CreatedBy is the user who made it; empty if that is not known.
	CreatedBy string
	// Uses are the joins that were made with it, in their order.
	Uses []Use
	// Accepted are the joins that operators accepted.
	Accepted []Acceptance
}

// ClusterDefaults are labels and other settings that a Cluster gets when it joins.
type ClusterDefaults struct {
	Labels   map[string]string `json:"labels,omitempty"`
	Region   string            `json:"region,omitempty"`
	Zones    []string          `json:"zones,omitempty"`
	Provider string            `json:"provider,omitempty"`
}

func (g ClusterDefaults) empty() bool {
	return len(g.Labels) == 0 && g.Region == "" && len(g.Zones) == 0 && g.Provider == ""
}

// Use is one join that was made with a token.
type Use struct {
	// Cluster that joined, and the id of its member.
	Cluster string `json:"cluster"`
	Member  string `json:"member"`
	// Request is the UID of the certificate signing request.
	Request string `json:"request"`
	// At is when.
	At time.Time `json:"at"`
}

// Acceptance is an operator's word about one join.
type Acceptance struct {
	// Request is the UID of the certificate signing request.
	Request string `json:"request"`
	// By is the operator, and At is when.
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// New makes a token that is good for one join of a cluster, from a source of random
// bytes, which must be fit for secrets.
func New(random io.Reader, cluster string, expires time.Time) (Token, error) {
	id, err := randomString(random, idLength)
	if err != nil {
		return Token{}, err
	}
	secret, err := randomString(random, secretLength)
	if err != nil {
		return Token{}, err
	}
	return Token{ID: id, Secret: secret, Cluster: cluster, MaxUses: 1, Expires: expires}, nil
}

// String is the token as its holder writes it: ID.SECRET. It is a secret.
func (t Token) String() string { return t.ID + "." + t.Secret }

// UsesLeft is for how many joins the token is still good.
func (t Token) UsesLeft() int { return max(0, t.MaxUses-len(t.Uses)) }

// UsedFor says whether the token was used for the request with a UID.
func (t Token) UsedFor(request string) bool {
	return slices.ContainsFunc(t.Uses, func(u Use) bool { return u.Request == request })
}

// AcceptedFor returns what an operator said of the request with a UID; nil if nobody
// accepted it.
func (t Token) AcceptedFor(request string) *Acceptance {
	i := slices.IndexFunc(t.Accepted, func(a Acceptance) bool { return a.Request == request })
	if i < 0 {
		return nil
	}
	return &t.Accepted[i]
}

// IsPattern says whether the name of a token is a pattern.
func IsPattern(name string) bool { return strings.Contains(name, wildcard) }

// Admits says whether a cluster of a name may join with the token.
func (t Token) Admits(cluster string) bool {
	parts := strings.Split(t.Cluster, wildcard)
	if len(parts) == 1 {
		return t.Cluster != "" && t.Cluster == cluster
	}
	rest, ok := strings.CutPrefix(cluster, parts[0])
	for _, part := range parts[1 : len(parts)-1] {
		if !ok {
			return false
		}
		_, rest, ok = strings.Cut(rest, part)
	}
	return ok && strings.HasSuffix(rest, parts[len(parts)-1])
}

const wildcard = "*"

// ValidatePattern says what is wrong with a pattern of names.
func ValidatePattern(pattern string) error {
	if err := ValidateClusterName(strings.ReplaceAll(pattern, wildcard, "x")); err != nil || !IsPattern(pattern) {
		return fmt.Errorf("pattern %q must be the name of a cluster in which * stands for any characters, such as shop-*", pattern)
	}
	if strings.Trim(pattern, wildcard+"-") == "" {
		return fmt.Errorf("pattern %q is every name: begin or end it with something that all the clusters have in common", pattern)
	}
	return nil
}

// Expired says whether the token has ended at the given time.
func (t Token) Expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// Parse reads a token as its holder writes it. The result has nothing but ID and
// Secret. The error does not repeat the token.
func Parse(s string) (Token, error) {
	id, secret, ok := strings.Cut(s, ".")
	if !ok || !validID(id) || !validSecret(secret) {
		return Token{}, errors.New("the token is not of the form ID.SECRET with 6 and 16 lower-case letters and digits; copy it whole from what `hub token create` printed")
	}
	return Token{ID: id, Secret: secret}, nil
}

// IDOfUser returns the id of the token that a user of the hub presented, and whether
// the user presented one.
func IDOfUser(user string) (string, bool) {
	id, ok := strings.CutPrefix(user, contract.BootstrapUserPrefix)
	return id, ok && validID(id)
}

// ValidateClusterName says what is wrong with the name of a cluster.
func ValidateClusterName(name string) error {
	switch problems := validation.IsDNS1123Label(name); {
	case name == "":
		return errors.New("the name of the cluster is missing")
	case len(name) > contract.MaxClusterNameLength:
		return fmt.Errorf("cluster name %q has %d characters; at most %d are possible", name, len(name), contract.MaxClusterNameLength)
	case len(problems) > 0:
		return fmt.Errorf("cluster name %q must consist of lower-case letters, digits and '-', and begin and end with a letter or digit", name)
	default:
		return nil
	}
}

func validID(s string) bool     { return regexp.MustCompile(`^[a-z0-9]{6}$`).MatchString(s) }
func validSecret(s string) bool { return regexp.MustCompile(`^[a-z0-9]{16}$`).MatchString(s) }

// randomString draws every character with the same probability: bytes beyond the last
// whole multiple of the alphabet are dropped.
func randomString(random io.Reader, length int) (string, error) {
	const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"
	const limit = 256 - 256%len(alphabet)
	out := make([]byte, 0, length)
	buf := make([]byte, 1)
	for len(out) < length {
		if _, err := io.ReadFull(random, buf); err != nil {
			return "", fmt.Errorf("drawing a random token: %w", err)
		}
		if int(buf[0]) < limit {
			out = append(out, alphabet[int(buf[0])%len(alphabet)])
		}
	}
	return string(out), nil
}
