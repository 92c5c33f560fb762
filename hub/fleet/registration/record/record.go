package record

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"time"

	"fairlead.dev/common/contract"
)

// Joined is how a member joined most recently.
type Joined struct {
	// ID is the id of the join, whose group has the agent's rights; empty if the agent joined before joins had ids.
	ID string `json:"id,omitempty"`
	// At is when it joined.
	At time.Time `json:"at"`
	// Token is the id of the token, and TokenBy the user who created it.
	Token   string `json:"token"`
	TokenBy string `json:"tokenBy,omitempty"`
	// AcceptedBy is the operator who accepted the join; empty if none had to.
	AcceptedBy string `json:"acceptedBy,omitempty"`
}

// Certificate describes a certificate that was issued to an agent. Nothing in it is secret.
type Certificate struct {
	// Serial is the serial number in hexadecimal.
	Serial string `json:"serial"`
	// From and Expires bound its validity.
	From    time.Time `json:"from"`
	Expires time.Time `json:"expires"`
	// Key is the public key as a point on the curve P-256; empty for any other kind of key. Only the agent can open
	// what is sealed with it.
	Key []byte `json:"key,omitempty"`
	// Fingerprint is the fingerprint as the API server reports it.
	Fingerprint string `json:"fingerprint,omitempty"`
	// PEM is the certificate itself: an agent that was stopped before it fetched its new certificate finds it here.
	PEM string `json:"pem,omitempty"`
}

// Join returns the id of the join that the certificate belongs to; empty if it belongs to none, or that is unknown.
func (c Certificate) Join() string {
	block, _ := pem.Decode([]byte(c.PEM))
	if block == nil {
		return ""
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return ""
	}
	return contract.JoinOf(parsed.Subject.Organization)
}

// OfAnother says whether the certificate is known to belong to another join than this one.
func (c Certificate) OfAnother(join string) bool {
	of := c.Join()
	return of != "" && join != "" && of != join
}

// IsOf says whether the certificate is known to be for this public key.
func (c Certificate) IsOf(public crypto.PublicKey) bool {
	key, err := point(public)
	return err == nil && len(key) > 0 && bytes.Equal(key, c.Key)
}

// IsNext says whether to record an issued certificate in place of the previous one, on a Cluster whose agent has the
// rights of a join. Which one is newer is judged by their start times only within one join: the hub's clock may have
// been set back before another join.
func IsNext(issued Certificate, before *Certificate, join string) bool {
	switch {
	case issued.OfAnother(join):
		return false
	case before == nil, before.OfAnother(join):
		return true
	default:
		return before.Serial != issued.Serial && !issued.From.Before(before.From)
	}
}

// Copied records that somebody else may have a copy of the certificate of an agent.
type Copied struct {
	// At is when an agent authenticated with a certificate other than its last one, and Fingerprint is that of the
	// certificate.
	At          time.Time `json:"at"`
	Fingerprint string    `json:"fingerprint"`
}

// Retired records that a Cluster was forgotten.
type Retired struct {
	// At is when the Cluster was forgotten, and By the operator who forgot it.
	At time.Time `json:"at"`
	By string    `json:"by"`
}

// Read returns the record stored under an annotation of a Cluster; nil if there is none, or it cannot be decoded.
func Read[T Joined | Certificate | Copied | Retired](annotations map[string]string, key string) *T {
	raw := annotations[key]
	if raw == "" {
		return nil
	}
	out := new(T)
	if json.Unmarshal([]byte(raw), out) != nil {
		return nil
	}
	return out
}

// Write encodes a record as the value of an annotation.
func Write[T Joined | Certificate | Copied | Retired](record T) (string, error) {
	raw, err := json.Marshal(record)
	if err != nil {
		return "", fmt.Errorf("encoding a record: %w", err)
	}
	return string(raw), nil
}

// JoinOf returns the id of the join whose agent has the rights of the Cluster with these annotations; empty if there is
// none.
func JoinOf(annotations map[string]string) string {
	if joined := Read[Joined](annotations, contract.JoinedAnnotation); joined != nil {
		return joined.ID
	}
	return ""
}

// IsRetired says whether the annotations are those of a Cluster that was forgotten.
func IsRetired(annotations map[string]string) bool {
	return annotations[contract.RetiredAnnotation] != ""
}

// Of returns the record of a certificate in PEM.
func Of(raw []byte) (Certificate, error) {
	block, _ := pem.Decode(raw)
	if block == nil {
		return Certificate{}, fmt.Errorf("%d bytes that are no certificate", len(raw))
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return Certificate{}, fmt.Errorf("reading a certificate: %w", err)
	}
	out := Certificate{
		Serial: parsed.SerialNumber.Text(16), From: parsed.NotBefore.UTC(), Expires: parsed.NotAfter.UTC(),
		Fingerprint: contract.Fingerprint(parsed.Raw), PEM: string(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: parsed.Raw})),
	}
	if out.Key, err = point(parsed.PublicKey); err != nil {
		return Certificate{}, fmt.Errorf("reading the key of a certificate: %w", err)
	}
	return out, nil
}

// point returns a public key as a point on the curve P-256; nil for any other kind of key.
func point(public crypto.PublicKey) ([]byte, error) {
	key, ok := public.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, nil
	}
	return key.Bytes() //nolint:wrapcheck // the caller wraps it
}
