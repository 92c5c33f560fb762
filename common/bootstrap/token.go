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

// Lengths of the two parts of a token, as defined by Kubernetes.
const (
	idLength     = 6
	secretLength = 16
)

// MaxUses is the maximum number of joins per token: each is recorded on the token's Secret, which has to have room
// for all.
const MaxUses = 1000

// Token lets clusters join the hub.
type Token struct {
	// ID is public: it is part of the name of the token's Secret and of the user name of its holder.
	ID string
	// Secret is the secret half of the token.
	Secret string
	// Cluster is the name of the cluster that may join, or a pattern of names. It is empty in a token that somebody
	// else created, which admits nobody.
	Cluster string
	// Member is the ID of the only member that may join; empty if any may.
	Member string
	// MaxUses is how many joins the token allows.
	MaxUses int
	// Expires is when the token expires; zero means never.
	Expires time.Time
	// Manual says that an operator has to approve each join.
	Manual bool
	// Closed is why the token was disabled although it is not used up; empty if it was not.
	Closed string
	// Gives are the defaults for a Cluster that joins with the token.
	Gives ClusterDefaults
	// CreatedBy is the user who created it; empty if unknown.
	CreatedBy string
	// Uses are the joins made with it, oldest first.
	Uses []Use
	// Accepted are the joins that operators approved.
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

// Use is a join made with a token.
type Use struct {
	// Cluster is the cluster that joined, Member the ID of its member.
	Cluster string `json:"cluster"`
	Member  string `json:"member"`
	// Request is the UID of the certificate signing request.
	Request string `json:"request"`
	// At is when it joined.
	At time.Time `json:"at"`
}

// Acceptance is an operator's approval of a join.
type Acceptance struct {
	// Request is the UID of the certificate signing request.
	Request string `json:"request"`
	// By is the operator, and At is when they approved.
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// New creates a token for one join of a cluster. random must be a cryptographic source of randomness.
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

// String returns the token in the form ID.SECRET. It is a secret.
func (t Token) String() string { return t.ID + "." + t.Secret }

// UsesLeft returns how many more joins the token allows.
func (t Token) UsesLeft() int { return max(0, t.MaxUses-len(t.Uses)) }

// UsedFor returns whether the token was used for the request with this UID.
func (t Token) UsedFor(request string) bool {
	return slices.ContainsFunc(t.Uses, func(u Use) bool { return u.Request == request })
}

// AcceptedFor returns an operator's approval of the request with this UID; nil if there is none.
func (t Token) AcceptedFor(request string) *Acceptance {
	i := slices.IndexFunc(t.Accepted, func(a Acceptance) bool { return a.Request == request })
	if i < 0 {
		return nil
	}
	return &t.Accepted[i]
}

// IsPattern returns whether the cluster name of a token is a pattern.
func IsPattern(name string) bool { return strings.Contains(name, wildcard) }

// Admits returns whether a cluster with this name may join with the token.
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

// ValidatePattern returns what is wrong with a pattern of names.
func ValidatePattern(pattern string) error {
	if err := ValidateClusterName(strings.ReplaceAll(pattern, wildcard, "x")); err != nil || !IsPattern(pattern) {
		return fmt.Errorf("pattern %q must be the name of a cluster in which * stands for any characters, such as shop-*", pattern)
	}
	if strings.Trim(pattern, wildcard+"-") == "" {
		return fmt.Errorf("pattern %q is every name: begin or end it with something that all the clusters have in common", pattern)
	}
	return nil
}

// Expired returns whether the token has expired.
func (t Token) Expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// Parse parses a token in the form ID.SECRET. The result has only ID and Secret. The error does not contain the
// token.
func Parse(s string) (Token, error) {
	id, secret, ok := strings.Cut(s, ".")
	if !ok || !validID(id) || !validSecret(secret) {
		return Token{}, errors.New("the token is not of the form ID.SECRET with 6 and 16 lower-case letters and digits; copy the whole token that `hub token create` printed")
	}
	return Token{ID: id, Secret: secret}, nil
}

// IDOfUser returns the ID of the token with which a user of the hub authenticated; false if there was none.
func IDOfUser(user string) (string, bool) {
	id, ok := strings.CutPrefix(user, contract.BootstrapUserPrefix)
	return id, ok && validID(id)
}

// ValidateClusterName returns what is wrong with the name of a cluster.
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

// randomString draws every character with the same probability: bytes beyond the largest multiple of the alphabet's
// size are discarded.
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
