package bootstrap

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/hpke"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// An agent whose certificate expired while it was off still has the key of that certificate, and the hub knows the
// public key. So a token for this agent, sealed with the key, can be published: nobody else can read it, and no
// secret has to be shared beforehand.

// ServersKey is the key in cluster-info with the URLs of all hubs of the API, one per line. It is not signed, so it
// is trusted over verified connections only.
const ServersKey = "hub-servers"

// RejoinName is the name of the ConfigMap with sealed tokens, in the namespace of cluster-info. Everybody may read
// it.
const RejoinName = "fairlead-rejoin"

// RejoinToken is a sealed token for an agent that has to join again.
type RejoinToken struct {
	// Sealed is the token, which only the agent can open.
	Sealed []byte `json:"sealed"`
	// Expires is when the token expires.
	Expires time.Time `json:"expires"`
}

// purpose separates this use of the key from any other.
const purpose = "fairlead.dev rejoin"

// RejoinKey returns the key in the ConfigMap for the token of an agent with this public key, a point of the curve
// P-256.
func RejoinKey(public []byte) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:])
}

// Seal returns the value in the ConfigMap: the token, sealed for the holder of a key.
func Seal(public []byte, token Token) (string, error) {
	point, err := ecdh.P256().NewPublicKey(public)
	if err != nil {
		return "", fmt.Errorf("reading the key of the agent: %w", err)
	}
	recipient, err := hpke.NewDHKEMPublicKey(point)
	if err != nil {
		return "", fmt.Errorf("reading the key of the agent: %w", err)
	}
	sealed, err := hpke.Seal(recipient, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(purpose), []byte(token.String()))
	if err != nil {
		return "", fmt.Errorf("sealing the token: %w", err)
	}
	return encode(RejoinToken{Sealed: sealed, Expires: token.Expires}), nil
}

// ParseRejoinToken parses a value of the ConfigMap.
func ParseRejoinToken(raw string) (RejoinToken, error) {
	var out RejoinToken
	if err := json.Unmarshal([]byte(raw), &out); err != nil {
		return RejoinToken{}, fmt.Errorf("reading a rejoin token: %w", err)
	}
	return out, nil
}

// Open decrypts the token, in the form ID.SECRET.
func (c RejoinToken) Open(key *ecdsa.PrivateKey) (string, error) {
	private, err := key.ECDH()
	if err != nil {
		return "", fmt.Errorf("using the agent's key: %w", err)
	}
	recipient, err := hpke.NewDHKEMPrivateKey(private)
	if err != nil {
		return "", fmt.Errorf("using the agent's key: %w", err)
	}
	token, err := hpke.Open(recipient, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(purpose), c.Sealed)
	if err != nil {
		return "", fmt.Errorf("opening the token: %w", err)
	}
	return string(token), nil
}
