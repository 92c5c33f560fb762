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

// Joined is how a member joined last.
type Joined struct {
	// ID is the ID of the join, whose group has the rights of the agent; empty if the agent is of a
	// version that knew none.
	ID string `json:"id,omitempty"`
	// At is when.
	At time.Time `json:"at"`
	// Token is the id of the token, and TokenBy the user who made it.
	Token   string `json:"token"`
	TokenBy string `json:"tokenBy,omitempty"`
	// AcceptedBy is the operator who accepted the join; empty if nobody was to be asked.
	AcceptedBy string `json:"acceptedBy,omitempty"`
}

// Certificate is about a certificate that an agent was given. Nothing in it is a secret.
type Certificate struct {
	// Serial is its number, in hexadecimal digits.
	Serial string `json:"serial"`
	// From and Expires are when it holds.
	From    time.Time `json:"from"`
	Expires time.Time `json:"expires"`
	// Key is the public key as a point of the curve P-256; empty if it is another kind
	// of key. What is sealed with it only the agent can open.
	Key []byte `json:"key,omitempty"`
	// Fingerprint is how an API server names it.
	Fingerprint string `json:"fingerprint,omitempty"`
	// PEM is the certificate itself: an agent that was stopped before it fetched the one that it
	// asked for finds it here.
	PEM string `json:"pem,omitempty"`
}

// Join returns the id of the join that a certificate comes from; empty if it comes from none, or is not known.
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

// OfAnother says whether a certificate is known to come from another join than this one.
func (c Certificate) OfAnother(join string) bool {
	of := c.Join()
	return of != "" && join != "" && of != join
}

// IsOf says whether a certificate is known to be one of this public key.
func (c Certificate) IsOf(public crypto.PublicKey) bool {
	key, err := point(public)
	return err == nil && len(key) > 0 && bytes.Equal(key, c.Key)
}

// IsNext says whether a certificate that was issued is the one to record, in place of the one before, on a Cluster
// whose agent has the rights of a join. When they begin says which is later only within one join: the clock of the
// hub may have been put back before another one.
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
	// At is when an agent asked with another certificate than the last one, and Fingerprint is that of the certificate.
	At          time.Time `json:"at"`
	Fingerprint string    `json:"fingerprint"`
}

// Retired records that a Cluster was forgotten.
type Retired struct {
	// At is when the Cluster was forgotten, and By is the operator who forgot it.
	At time.Time `json:"at"`
	By string    `json:"by"`
}

// Read returns the record under a key of the annotations of a Cluster; nil if there is
// none that can be read.
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

// Write returns a record as the value of an annotation.
func Write[T Joined | Certificate | Copied | Retired](record T) (string, error) {
	raw, err := json.Marshal(record)
	if err != nil {
		return "", fmt.Errorf("encoding a record: %w", err)
	}
	return string(raw), nil
}

// JoinOf returns the id of the join whose agent has the rights of the Cluster with these
// annotations; empty if there is none.
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

// Of returns what is to be recorded of a certificate in PEM.
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

// point returns a public key as a point of the curve P-256; nil if it is another kind of key.
func point(public crypto.PublicKey) ([]byte, error) {
	key, ok := public.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, nil
	}
	return key.Bytes() //nolint:wrapcheck // the caller says what it was
}
