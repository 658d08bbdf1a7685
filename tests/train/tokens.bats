# SPDX-License-Identifier: Apache-2.0
# berth-train and texts as tokens.
load ../cli/lib

# ranks PIECE...: a file of them, behind those of all bytes.
ranks() {
  python3 - "$@" >ranks <<'END'
import base64, sys
pieces = [bytes([byte]) for byte in range(256)] + [piece.encode() for piece in sys.argv[1:]]
for rank, piece in enumerate(pieces):
    print(base64.b64encode(piece).decode(), rank)
END
}

@test "a text becomes a file of tokens as llm.c reads them" {
  ranks th the ' the'
  printf 'the the' >text
  run berth-train tokenize text tokens.bin --ranks ranks
  status_is 0
  contains "tokens.bin holds 3 tokens"
  [[ $(od -An -tu4 -N12 tokens.bin | xargs) == "20240520 1 3" ]]
  [[ $(od -An -tu2 -j1024 tokens.bin | xargs) == "259 257 258" ]]
}

@test "what is wrong with it is named, with what would be right" {
  ranks
  run berth-train tokenize text
  status_is 64
  contains "berth-train tokenize TEXT FILE --ranks RANKS"
  run berth-train tokenize text tokens.bin --ranks ranks
  status_is 1
  contains "text: No such file or directory"
  echo nonsense >ranks
  echo text >text
  run berth-train tokenize text tokens.bin --ranks ranks
  status_is 1
  contains "ranks: line 1: must be base64, a blank and a rank"
  [[ ! -e tokens.bin ]]
}

@test "a model of bytes does not learn tokens, and that is said" {
  ranks
  seq 1 3000 >text
  berth-train tokenize text tokens.bin --ranks ranks
  run berth-train --run.text tokens.bin
  status_is 1
  contains "has the token 256, and the model knows 256"
}
