package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// JoinGroupPrefix is followed by the ID of a join. Every certificate of an agent carries this group of its join,
// through all renewals, and the group has the agent's rights: those of a join that ended belong to nobody any more.
const JoinGroupPrefix = "fairlead.dev:join:"

// JoinID returns the ID of the join for which a key was made, given the public key in DER. Since it is a hash, nobody
// can choose the ID of another join.
func JoinID(publicKey []byte) string {
	const short = 16 // bytes of the hash, enough against a second preimage
	sum := sha256.Sum256(publicKey)
	return hex.EncodeToString(sum[:short])
}

// JoinGroup returns the group of a join.
func JoinGroup(id string) string { return JoinGroupPrefix + id }

// JoinOf returns the ID of the join among groups; empty if there is none, or more than one.
func JoinOf(groups []string) string {
	found := ""
	for _, group := range groups {
		id, ok := strings.CutPrefix(group, JoinGroupPrefix)
		if !ok {
			continue
		}
		if found != "" {
			return ""
		}
		found = id
	}
	return found
}

// CertificateLifetimeSeconds is the requested and issued lifetime of an agent's certificate, in seconds.
const CertificateLifetimeSeconds = 30 * 24 * 60 * 60

// CredentialIDKey is the key under which an API server names the certificate of an authenticated user. The value is
// CredentialIDPrefix and the Fingerprint of the certificate.
const (
	CredentialIDKey    = "authentication.kubernetes.io/credential-id"
	CredentialIDPrefix = "X509SHA256="
)

// Fingerprint returns the hash of a certificate in DER with which an API server names it.
func Fingerprint(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return hex.EncodeToString(sum[:])
}
