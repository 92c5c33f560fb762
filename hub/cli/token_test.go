package cli

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/test/cluster"
)

func TestTokenCreatePrintsACommandThatWorksAtOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := cluster.Shared(t, cluster.Options{})
	g.Expect(apiserver.Install(t.Context(), hub.Config, apiserver.Options{
		ClusterInfo: &apiserver.ClusterInfo{Servers: []string{hub.Config.Host}, CA: hub.Config.CAData},
	})).To(Succeed())

	e := execution{env: map[string]string{"KUBECONFIG": hub.Kubeconfig}}
	g.Expect(e.run(t.Context(), "token", "create", "--cluster", "edge-1", "--ttl", "2h")).To(BeZero(), e.err.String())

	g.Expect(e.out.String()).To(MatchRegexp(
		`^agent join 127\.0\.0\.1:\d+ --token [a-z0-9]{6}\.[a-z0-9]{16} --discovery-token-ca-cert-hash sha256:[0-9a-f]{64} --cluster-name edge-1\n$`))
	words := strings.Fields(e.out.String())
	g.Expect("https://" + words[2]).To(Equal(hub.Config.Host))
	token, err := bootstrap.Parse(words[4])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bootstrap.VerifyCAHash(hub.Config.CAData, []string{words[6]})).To(Succeed())

	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: bootstrap.SecretNamespace, Name: bootstrap.SecretName(token.ID)}
	g.Expect(hub.Client(t).Get(t.Context(), key, secret)).To(Succeed())
	kept, err := bootstrap.FromSecret(secret)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept.Cluster).To(Equal("edge-1"))
	g.Expect(kept.Secret).To(Equal(token.Secret))
	g.Expect(time.Until(kept.Expires)).To(BeNumerically("~", 2*time.Hour, time.Minute))

	info, err := apiserver.GetClusterInfo(t.Context(), hub.Client(t))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Signed).To(HaveKey(token.ID))

	t.Run("its holder may ask for a certificate and do nothing else", func(t *testing.T) {
		g := NewWithT(t)
		cfg := rest.AnonymousClientConfig(hub.Config)
		cfg.BearerToken = token.String()
		scheme, err := kube.NewScheme()
		g.Expect(err).NotTo(HaveOccurred())
		holder, err := client.New(cfg, client.Options{Scheme: scheme})
		g.Expect(err).NotTo(HaveOccurred())
		csr := &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "edge-1-"},
			Spec: certificatesv1.CertificateSigningRequestSpec{
				SignerName: certificatesv1.KubeAPIServerClientSignerName, Request: []byte(request),
				Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			},
		}
		g.Expect(holder.Create(t.Context(), csr)).To(Succeed())
		g.Expect(csr.Spec.Username).To(Equal(contract.BootstrapUserPrefix + token.ID))
		g.Expect(csr.Spec.Groups).To(ContainElement(contract.BootstrapGroup))
		g.Expect(holder.Get(t.Context(), client.ObjectKeyFromObject(csr), csr)).To(Succeed())
		g.Expect(holder.List(t.Context(), &certificatesv1.CertificateSigningRequestList{})).NotTo(Succeed())
		g.Expect(holder.List(t.Context(), &corev1.SecretList{})).NotTo(Succeed())
		g.Expect(holder.Delete(t.Context(), csr)).NotTo(Succeed())
	})
}

// request is a certificate request of an agent; nobody signs it in this test.
const request = `-----BEGIN CERTIFICATE REQUEST-----
MIIBATCBqAIBADBGMR4wHAYDVQQKDBVzeXN0ZW06a2FybWFkYTphZ2VudHMxJDAi
BgNVBAMMG3N5c3RlbTprYXJtYWRhOmFnZW50OmVkZ2UtMTBZMBMGByqGSM49AgEG
CCqGSM49AwEHA0IABGv1lsNSpnb7HX0hLzH+cqP5npzDToug+Pmsj9sHwz7/A8y7
0q3TsRzw5KLS/KrTra0ienG9iMwb3EumpK29vJKgADAKBggqhkjOPQQDAgNIADBF
AiEAl36QfkB9MeR8HG+tjhyMc6z/aUo8+IQbY5owtCk9qJACIGysFrBtaby06Rcr
h/76ES1kN3du0tF8TWq5/hNgOdst
-----END CERTIFICATE REQUEST-----
`

func TestTokenCreateWhenNobodyAnswers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	path := t.TempDir() + "/kubeconfig"
	g.Expect(clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"hub": {Server: "https://127.0.0.1:1"}},
		Contexts:       map[string]*clientcmdapi.Context{"hub": {Cluster: "hub"}},
		CurrentContext: "hub",
	}, path)).To(Succeed())
	var e execution
	g.Expect(e.run(t.Context(), "token", "create", "--cluster", "edge-1", "--kubeconfig", path)).To(Equal(1))
	g.Expect(e.lastLine()).To(And(HavePrefix("Error: connecting to the hub"), ContainSubstring("connection refused")))
}

// TestATokenThatIsGoneLeavesNoOtherOneInUse revokes several at once, as after a leak.
func TestATokenThatIsGoneLeavesNoOtherOneInUse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := cluster.Shared(t, cluster.Options{})
	hubClient := hub.Client(t)
	issued := func(name string) bootstrap.Token {
		token, err := bootstrap.New(rand.Reader, name, time.Now().Add(time.Hour))
		g.Expect(err).NotTo(HaveOccurred())
		return token
	}
	first, gone, last := issued("leaked-1"), issued("leaked-2"), issued("leaked-3")
	for _, token := range []bootstrap.Token{first, last} {
		g.Expect(hubClient.Create(t.Context(), bootstrap.NewSecret(token))).To(Succeed())
	}
	e := &execution{}
	g.Expect(e.run(t.Context(), "token", "revoke", first.ID, gone.ID, last.String(), "--kubeconfig", hub.Kubeconfig)).To(Equal(ExitFailed))
	g.Expect(e.lastLine()).To(Equal("Error: there is no join token " + gone.ID + " on the hub; `hub token list` lists them"))
	g.Expect(e.out.String()).To(Equal("Token " + first.ID + " is revoked\nToken " + last.ID + " is revoked\n"))
	for _, token := range []bootstrap.Token{first, last} {
		key := client.ObjectKey{Namespace: bootstrap.SecretNamespace, Name: bootstrap.SecretName(token.ID)}
		g.Expect(apierrors.IsNotFound(hubClient.Get(t.Context(), key, &corev1.Secret{}))).To(BeTrue())
	}
}

func TestTokenCreateSaysWhyAnAgentIsNotCalled(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := &tokenFlags{rejoin: "edge-1"}
	token := bootstrap.Token{Cluster: "edge-1", Expires: time.Now().Add(time.Hour)}
	g.Expect(f.explain(token, false, "its agent asked for the next one and was denied")).To(SatisfyAll(
		ContainSubstring("Somebody else may have a copy of the certificate of cluster edge-1 (its agent asked for the next one and was denied)"),
		ContainSubstring("on the member itself"),
	))
	g.Expect(f.explain(token, true, "")).To(ContainSubstring("finds this token by itself"))
}
