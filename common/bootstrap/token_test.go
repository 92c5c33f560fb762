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
}

func TestUsesAreCountedAndRemembered(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	token := Token{MaxUses: 2, Uses: []Use{{Request: "a"}}, Accepted: []Acceptance{{Request: "b", By: "ann"}}}
	g.Expect(token.UsesLeft()).To(Equal(1))
	g.Expect(token.UsedFor("a")).To(BeTrue())
	g.Expect(token.UsedFor("b")).To(BeFalse())
	g.Expect(token.AcceptedFor("a")).To(BeNil())
	g.Expect(token.AcceptedFor("b").By).To(Equal("ann"))
	token.Uses = make([]Use, 3)
	g.Expect(token.UsesLeft()).To(BeZero())
}

func TestAdmits(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		token, cluster string
		want           bool
	}{
		"its own name":                         {"edge-1", "edge-1", true},
		"another name":                         {"edge-1", "edge-2", false},
		"no name is nobody's":                  {"", "", false},
		"a name that begins so":                {"shop-*", "shop-17", true},
		"a name that begins otherwise":         {"shop-*", "ship-17", false},
		"the star may stand for nothing":       {"shop*", "shop", true},
		"a name that ends so":                  {"*-eu", "shop-eu", true},
		"a name with both ends":                {"shop-*-eu", "shop-1-eu", true},
		"ends that would overlap":              {"shop-*-eu", "shop-eu", false},
		"several stars":                        {"s*-*-eu", "shop-1-eu", true},
		"several stars that do not all match":  {"s*-x-*-eu", "shop-1-eu", false},
		"a dot is a character like any other":  {"shop.1", "shop-1", false},
		"a star in the name is no wildcard":    {"shop-1", "shop-*", false},
		"the whole name counts, not its start": {"shop", "shop-1", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Token{Cluster: tc.token}.Admits(tc.cluster)).To(Equal(tc.want))
		})
	}
}

func TestValidatePattern(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, good := range []string{"shop-*", "*-eu", "a*b*c"} {
		g.Expect(ValidatePattern(good)).To(Succeed(), good)
	}
	for _, bad := range []string{"", "*", "**", "*-*", "shop", "Shop-*", "shop.*", "-*", strings.Repeat("a", 48) + "*"} {
		g.Expect(ValidatePattern(bad)).NotTo(Succeed(), bad)
	}
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
		"a fresh one": {Cluster: "edge-1", MaxUses: 1, Expires: now()},
		"one that is used": {Cluster: "edge-1", MaxUses: 1, Expires: now(), Uses: []Use{
			{Cluster: "edge-1", Member: "member", Request: "r", At: now()},
		}},
		"one for many": {
			Cluster: "shop-*", MaxUses: 20, Expires: now(), Manual: true, CreatedBy: "ann",
			Gives:    ClusterDefaults{Labels: map[string]string{"tier": "gold"}, Region: "eu", Zones: []string{"a", "b"}, Provider: "own"},
			Accepted: []Acceptance{{Request: "r", By: "ann", At: now()}},
		},
		"one for one member":       {Cluster: "edge-1", Member: "m", MaxUses: 1, Expires: now()},
		"one without an end":       {Cluster: "edge-1", MaxUses: 1},
		"one that names nobody":    {MaxUses: 1},
		"one of another time zone": {MaxUses: 1, Expires: now().In(time.FixedZone("", 3600))},
	}
	for name, token := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			token.ID, token.Secret = "abc123", "0123456789abcdef"
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
		"uses that are no list":           func(s *corev1.Secret) { s.Annotations[contract.TokenUsedAnnotation] = "then" },
		"a number of uses that is none":   func(s *corev1.Secret) { s.Annotations[contract.TokenMaxUsesAnnotation] = "0" },
		"gifts that are none":             func(s *corev1.Secret) { s.Annotations[contract.TokenGivesAnnotation] = "[]" },
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
