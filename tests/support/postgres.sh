# A PostgreSQL server in a folder of its own, for as long as whoever started this keeps its input open.
# usage: postgres.sh <folder of initdb> <port> [setting …]; commands on its input: kill, start
set -eu
bin=$1
port=$2
shift 2
folder=$(mktemp -d /tmp/superstep-postgres-XXXXXX)
pid=
finish() {
  [ -z "$pid" ] || kill -QUIT "$pid" 2>/dev/null || :
  wait
  rm -rf "$folder"
}
trap finish EXIT
trap 'exit 0' TERM INT HUP PIPE

"$bin/initdb" -D "$folder/data" -A trust -U superstep -E UTF8 --locale=C --no-sync --no-instructions >/dev/null
{
  echo "port = $port"
  echo "listen_addresses = '127.0.0.1'"
  echo "unix_socket_directories = ''"
  for setting in "$@"; do echo "$setting"; done
} >>"$folder/data/postgresql.conf"

start() {
  tries=0
  while :; do
    "$bin/postgres" -D "$folder/data" >>"$folder/log" 2>&1 </dev/null &
    pid=$!
    until "$bin/pg_isready" -q -h 127.0.0.1 -p "$port"; do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.05
    done
    kill -0 "$pid" 2>/dev/null && break
    # What is left of a killed server holds its data for a moment.
    tries=$((tries + 1))
    [ $tries -lt 50 ] || { cat "$folder/log" >&2; exit 1; }
    sleep 0.1
  done
  echo ready
}

start
while read -r command; do
  case $command in
    kill)
      # The postmaster goes without a word; its children notice and follow.
      kill -KILL "$pid"
      wait "$pid" 2>/dev/null || :
      pid=
      echo killed
      ;;
    start) start ;;
  esac
done
