package bootstrap

import (
	"errors"
	"fmt"
	"io"
	"regexp"
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

// Token lets one cluster join the hub, once.
type Token struct {
	// ID is public: it is part of the name of the token's Secret and of the user name
	// of whoever presents the token.
	ID string
	// Secret is what its holder knows.
	Secret string
	// Cluster is the one cluster that may join. It is empty in a token that somebody
	// else made, which lets nobody join.
	Cluster string
	// Expires is when the token ends; zero means never.
	Expires time.Time
	// UsedBy is the id of the member that joined with the token; empty while it is
	// unused.
	UsedBy string
	// UsedAt is when that was.
	UsedAt time.Time
}

// New makes a token for a cluster from a source of random bytes, which must be fit
// for secrets.
func New(random io.Reader, cluster string, expires time.Time) (Token, error) {
	id, err := randomString(random, idLength)
	if err != nil {
		return Token{}, err
	}
	secret, err := randomString(random, secretLength)
	if err != nil {
		return Token{}, err
	}
	return Token{ID: id, Secret: secret, Cluster: cluster, Expires: expires}, nil
}

// String is the token as its holder writes it: ID.SECRET. It is a secret.
func (t Token) String() string { return t.ID + "." + t.Secret }

// Used says whether a member has joined with the token.
func (t Token) Used() bool { return t.UsedBy != "" }

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
