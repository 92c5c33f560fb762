package bootstrap

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"testing"

	. "github.com/onsi/gomega"
)

func TestASealedTokenIsForTheHolderOfTheKeyOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	mine, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	public, err := mine.PublicKey.Bytes()
	g.Expect(err).NotTo(HaveOccurred())

	raw, err := Seal(public, Token{ID: "abc123", Secret: "0123456789abcdef", Expires: now()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(raw).NotTo(ContainSubstring("0123456789abcdef"))
	call, err := ParseRejoinToken(raw)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(call.Expires).To(BeTemporally("==", now()))
	token, err := call.Open(mine)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(token).To(Equal("abc123.0123456789abcdef"))
	_, err = call.Open(other)
	g.Expect(err).To(HaveOccurred())
	call.Sealed[len(call.Sealed)-1] ^= 1
	_, err = call.Open(mine)
	g.Expect(err).To(HaveOccurred(), "it was changed")

	_, err = Seal([]byte("no key"), Token{})
	g.Expect(err).To(HaveOccurred())
	_, err = ParseRejoinToken("no token")
	g.Expect(err).To(HaveOccurred())
	g.Expect(RejoinKey(public)).To(HaveLen(64))
}
