package bootstrap

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	bootstraputil "k8s.io/cluster-bootstrap/token/util"

	"fairlead.dev/common/contract"
)

func now() time.Time { return time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC) }

func TestNewMakesTokensThatKubernetesTakes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	seen := map[string]bool{}
	for range 200 {
		token, err := New(rand.Reader, "edge-1", now())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(bootstraputil.IsValidBootstrapToken(token.String())).To(BeTrue())
		g.Expect(seen).NotTo(HaveKey(token.String()))
		seen[token.String()] = true
	}
}

func TestNewUsesEveryCharacterEquallyOften(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	// All bytes in turn: those that would favour the first characters are dropped.
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	count := map[rune]int{}
	source := bytes.NewReader(bytes.Repeat(all, 22))
	for range 7 * 36 {
		token, err := New(source, "", time.Time{})
		g.Expect(err).NotTo(HaveOccurred())
		for _, r := range token.ID + token.Secret {
			count[r]++
		}
	}
	g.Expect(count).To(HaveLen(36))
	for r, n := range count {
		g.Expect(n).To(Equal(7*22), string(r))
	}
}

func TestNewFailsWithItsSource(t *testing.T) {
	t.Parallel()
	broken := errors.New("no entropy")
	for _, source := range []io.Reader{
		iotest.ErrReader(broken),
		io.MultiReader(strings.NewReader("abcdefgh"), iotest.ErrReader(broken)),
	} {
		_, err := New(source, "edge-1", now())
		NewWithT(t).Expect(err).To(MatchError(broken))
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   string
		want Token
		fail bool
	}{
		"a token is read":               {in: "abc123.0123456789abcdef", want: Token{ID: "abc123", Secret: "0123456789abcdef"}},
		"an empty one is refused":       {in: "", fail: true},
		"an id alone is refused":        {in: "abc123", fail: true},
		"a long id is refused":          {in: "abc1234.0123456789abcdef", fail: true},
		"a cut one is refused":          {in: "abc123.0123456789abcde", fail: true},
		"upper case is refused":         {in: "ABC123.0123456789abcdef", fail: true},
		"a space at the end is refused": {in: "abc123.0123456789abcdef ", fail: true},
		"a line end is refused":         {in: "abc123.0123456789abcdef\n", fail: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, err := Parse(tc.in)
			if tc.fail {
				g.Expect(err).To(HaveOccurred())
				if len(tc.in) > 20 {
					g.Expect(err.Error()).NotTo(ContainSubstring("0123456789"), "a secret is not repeated")
				}
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(tc.want))
			g.Expect(got.String()).To(Equal(tc.in))
		})
	}
}

func TestExpired(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(Token{}.Expired(now())).To(BeFalse(), "a token without an end has none")
	g.Expect(Token{Expires: now()}.Expired(now().Add(-time.Second))).To(BeFalse())
	g.Expect(Token{Expires: now()}.Expired(now())).To(BeTrue())
	g.Expect(Token{UsedBy: "1"}.Used()).To(BeTrue())
	g.Expect(Token{}.Used()).To(BeFalse())
}

func TestIDOfUser(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		user, want string
		ok         bool
	}{
		"the holder of a token has its id":  {contract.BootstrapUserPrefix + "abc123", "abc123", true},
		"an agent has none":                 {contract.AgentUser("edge-1"), "", false},
		"a prefix alone is not enough":      {contract.BootstrapUserPrefix, "", false},
		"an id that cannot be one is none":  {contract.BootstrapUserPrefix + "ABC", "ABC", false},
		"somebody else's name is not taken": {"alice", "", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			id, ok := IDOfUser(tc.user)
			g.Expect(ok).To(Equal(tc.ok))
			if ok {
				g.Expect(id).To(Equal(tc.want))
			}
		})
	}
}

func TestValidateClusterName(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		name string
		ok   bool
	}{
		"a label is a name":             {"edge-1", true},
		"48 characters are enough":      {strings.Repeat("a", 48), true},
		"49 characters are too many":    {strings.Repeat("a", 49), false},
		"it is not empty":               {"", false},
		"it has no upper case":          {"Edge", false},
		"it has no dots":                {"edge.shop", false},
		"it does not end with a dash":   {"edge-", false},
		"it is not a path":              {"../edge", false},
		"it is not a line of its own":   {"edge\n", false},
		"it may begin with a digit":     {"1edge", true},
		"it does not begin with a dash": {"-edge", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := ValidateClusterName(tc.name)
			NewWithT(t).Expect(err == nil).To(Equal(tc.ok), "%v", err)
		})
	}
}

func TestASecretKeepsItsToken(t *testing.T) {
	t.Parallel()
	tests := map[string]Token{
		"a fresh one":              {ID: "abc123", Secret: "0123456789abcdef", Cluster: "edge-1", Expires: now()},
		"one that is used":         {ID: "abc123", Secret: "0123456789abcdef", Cluster: "edge-1", Expires: now(), UsedBy: "member", UsedAt: now()},
		"one without an end":       {ID: "abc123", Secret: "0123456789abcdef", Cluster: "edge-1"},
		"one that names nobody":    {ID: "abc123", Secret: "0123456789abcdef"},
		"one of another time zone": {ID: "abc123", Secret: "0123456789abcdef", Expires: now().In(time.FixedZone("", 3600))},
	}
	for name, token := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			secret := NewSecret(token)
			g.Expect(secret.Type).To(Equal(corev1.SecretTypeBootstrapToken))
			g.Expect(secret.Namespace + "/" + secret.Name).To(Equal("kube-system/bootstrap-token-abc123"))
			g.Expect(bootstraputil.ValidateBootstrapGroupName(string(secret.Data["auth-extra-groups"]))).To(Succeed())
			got, err := FromSecret(secret)
			g.Expect(err).NotTo(HaveOccurred())
			token.Expires = token.Expires.UTC()
			g.Expect(got).To(Equal(token))
		})
	}
}

func TestFromSecretRefusesWhatIsNoToken(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*corev1.Secret){
		"another type":                    func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque },
		"another name":                    func(s *corev1.Secret) { s.Name = "bootstrap-token-zzzzzz" },
		"no id":                           func(s *corev1.Secret) { delete(s.Data, "token-id") },
		"no secret":                       func(s *corev1.Secret) { delete(s.Data, "token-secret") },
		"an end that is no time":          func(s *corev1.Secret) { s.Data["expiration"] = []byte("soon") },
		"a time of use that is no time":   func(s *corev1.Secret) { s.Annotations[contract.TokenUsedAtAnnotation] = "then" },
		"a secret that is cut in the end": func(s *corev1.Secret) { s.Data["token-secret"] = []byte("0123") },
	}
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			secret := NewSecret(Token{ID: "abc123", Secret: "0123456789abcdef", Cluster: "edge-1", Expires: now()})
			damage(secret)
			_, err := FromSecret(secret)
			g.Expect(err).To(HaveOccurred())
			g.Expect(err.Error()).NotTo(ContainSubstring("0123456789abcdef"))
		})
	}
}
