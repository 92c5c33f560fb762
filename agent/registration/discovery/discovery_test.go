package discovery

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/cluster-bootstrap/token/jws"

	"fairlead.dev/common/bootstrap"
)

const (
	tokenID     = "abc123"
	tokenSecret = "0123456789abcdef"
)

func validFlags() Flags {
	return Flags{
		Hub: "hub.example.com:6443", Token: tokenID + "." + tokenSecret, Cluster: "edge-1",
		CACertHashes: []string{"sha256:" + strings.Repeat("ab", 32)},
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change     func(*Flags)
		wantErr    error
		wantServer string
	}{
		"all is well":                  {wantServer: "https://hub.example.com:6443"},
		"an address with a scheme":     {change: func(f *Flags) { f.Hub = "https://10.0.0.1:443/" }, wantServer: "https://10.0.0.1:443"},
		"an address of IPv6":           {change: func(f *Flags) { f.Hub = "[fd00::1]:6443" }, wantServer: "https://[fd00::1]:6443"},
		"no pin, when that is wanted":  {change: func(f *Flags) { f.CACertHashes, f.SkipCAVerification = nil, true }, wantServer: "https://hub.example.com:6443"},
		"a pin in capitals":            {change: func(f *Flags) { f.CACertHashes = []string{"sha256:" + strings.Repeat("AB", 32)} }, wantServer: "https://hub.example.com:6443"},
		"several addresses":            {change: func(f *Flags) { f.Hub = "a:6443, b:6443,a:6443" }, wantServer: "https://a:6443"},
		"one of several without port":  {change: func(f *Flags) { f.Hub = "a:6443,b" }, wantErr: ErrAddress},
		"no address":                   {change: func(f *Flags) { f.Hub = "" }, wantErr: ErrAddress},
		"an address without a port":    {change: func(f *Flags) { f.Hub = "hub.example.com" }, wantErr: ErrAddress},
		"an address without a host":    {change: func(f *Flags) { f.Hub = ":6443" }, wantErr: ErrAddress},
		"an address with a wrong port": {change: func(f *Flags) { f.Hub = "hub:65536" }, wantErr: ErrAddress},
		"an address with a named port": {change: func(f *Flags) { f.Hub = "hub:https" }, wantErr: ErrAddress},
		"an address with a path":       {change: func(f *Flags) { f.Hub = "hub:6443/api" }, wantErr: ErrAddress},
		"an address with a user":       {change: func(f *Flags) { f.Hub = "a@hub:6443" }, wantErr: ErrAddress},
		"an address of plain HTTP":     {change: func(f *Flags) { f.Hub = "http://hub:6443" }, wantErr: ErrAddress},
		"no token":                     {change: func(f *Flags) { f.Token = "" }, wantErr: ErrToken},
		"half a token":                 {change: func(f *Flags) { f.Token = tokenID + ".0123" }, wantErr: ErrToken},
		"no pin":                       {change: func(f *Flags) { f.CACertHashes = nil }, wantErr: ErrCAHash},
		"a pin that is none":           {change: func(f *Flags) { f.CACertHashes = []string{"sha256:ab"} }, wantErr: ErrCAHash},
		"a second pin that is none":    {change: func(f *Flags) { f.CACertHashes = append(f.CACertHashes, "md5:ab") }, wantErr: ErrCAHash},
		"no name":                      {change: func(f *Flags) { f.Cluster = "" }, wantErr: ErrClusterName},
		"a name that is none":          {change: func(f *Flags) { f.Cluster = "Edge_1" }, wantErr: ErrClusterName},
		"a name that is too long":      {change: func(f *Flags) { f.Cluster = strings.Repeat("e", 49) }, wantErr: ErrClusterName},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			flags := validFlags()
			if tc.change != nil {
				tc.change(&flags)
			}
			got, err := Parse(flags)
			if tc.wantErr != nil {
				g.Expect(err).To(MatchError(tc.wantErr))
				g.Expect(err.Error()).NotTo(ContainSubstring(tokenSecret), "a secret is not shown")
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Server).To(Equal(tc.wantServer))
			g.Expect(got.Token()).To(Equal(flags.Token))
		})
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	ca, otherCA := authorityPEM(t), authorityPEM(t)
	config := func(authorities ...[]byte) string {
		var b strings.Builder
		b.WriteString("apiVersion: v1\nkind: Config\nclusters:\n")
		for _, ca := range authorities {
			b.WriteString("- name: \"\"\n  cluster:\n    server: https://elsewhere:1\n    certificate-authority-data: " +
				base64.StdEncoding.EncodeToString(ca) + "\n")
		}
		return b.String()
	}
	signed := func(content, id, secret string) map[string]string {
		signature, err := jws.ComputeDetachedSignature(content, id, secret)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"kubeconfig": content, "jws-kubeconfig-" + id: signature}
	}
	good := signed(config(ca), tokenID, tokenSecret)
	tampered := maps.Clone(good)
	tampered["kubeconfig"] = config(otherCA)

	tests := map[string]struct {
		data    map[string]string
		pins    []string
		wantErr error
	}{
		"signed and pinned":                  {data: good, pins: hashes(t, ca)},
		"signed, and no pin is wanted":       {data: good},
		"one of several pins":                {data: good, pins: append(hashes(t, otherCA), hashes(t, ca)...)},
		"nothing in it":                      {data: map[string]string{}, pins: hashes(t, ca), wantErr: ErrNotAHub},
		"not signed for this token":          {data: signed(config(ca), "xyz789", tokenSecret), pins: hashes(t, ca), wantErr: ErrTokenUnknown},
		"signed with another secret":         {data: signed(config(ca), tokenID, "fedcba9876543210"), pins: hashes(t, ca), wantErr: ErrTokenSecret},
		"changed after it was signed":        {data: tampered, pins: hashes(t, otherCA), wantErr: ErrTokenSecret},
		"another authority than the pin":     {data: good, pins: hashes(t, otherCA), wantErr: ErrCAMismatch},
		"a second authority without a pin":   {data: signed(config(append(ca, otherCA...)), tokenID, tokenSecret), pins: hashes(t, ca), wantErr: ErrCAMismatch},
		"two clusters":                       {data: signed(config(ca, ca), tokenID, tokenSecret), pins: hashes(t, ca), wantErr: ErrNotAHub},
		"no authority":                       {data: signed(config(nil), tokenID, tokenSecret), pins: hashes(t, ca), wantErr: ErrNotAHub},
		"an authority that is none":          {data: signed(config([]byte("nonsense")), tokenID, tokenSecret), pins: hashes(t, ca), wantErr: ErrNotAHub},
		"something that is not a kubeconfig": {data: signed("[", tokenID, tokenSecret), pins: hashes(t, ca), wantErr: ErrNotAHub},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			p := Parameters{Server: "https://hub:6443", TokenID: tokenID, TokenSecret: tokenSecret, Pins: tc.pins, Cluster: "edge-1"}
			got, err := Verify(p, tc.data)
			if tc.wantErr != nil {
				g.Expect(err).To(MatchError(tc.wantErr))
				g.Expect(err.Error()).NotTo(ContainSubstring(tokenSecret), "a secret is not shown")
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(ca))
		})
	}
}

func TestVerifyShowsBothHashesWhenTheyDiffer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ca, otherCA := authorityPEM(t), authorityPEM(t)
	err := verifyPins(Parameters{Server: "https://hub:6443", Pins: hashes(t, otherCA)}, ca)
	g.Expect(err).To(MatchError(ErrCAMismatch))
	g.Expect(err.Error()).To(And(ContainSubstring(hashes(t, ca)[0]), ContainSubstring(hashes(t, otherCA)[0])))
}

func TestSame(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := Parameters{Server: "https://hub:6443"}
	g.Expect(Same(p, map[string]string{"kubeconfig": "a", "jws-kubeconfig-x": "1"}, map[string]string{"kubeconfig": "a"})).To(Succeed())
	g.Expect(Same(p, map[string]string{"kubeconfig": "a"}, map[string]string{"kubeconfig": "b"})).To(MatchError(ErrCAMismatch))
}

func authorityPEM(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func hashes(t *testing.T, ca []byte) []string {
	t.Helper()
	out, err := bootstrap.CAHash(ca)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
