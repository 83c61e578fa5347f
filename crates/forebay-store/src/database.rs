//! Connections to the database, and retries of requests.
//!
//! Every request is a single statement with typed parameters, or a transaction of such statements. No connection
//! keeps prepared statements, settings or locks between transactions. So a pooler may give each transaction another
//! connection, as PgBouncer does in transaction mode.

use crate::failure::{Failure, text_of};
use deadpool_postgres::{Client, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime};
use std::{
    future::Future,
    time::{Duration, Instant},
};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Row, Socket, tls::MakeTlsConnect};

/// Maximum connections of one process. Requests are short, so a few connections serve many threads, and a thousand
/// processes stay within the limits of a pooler.
const CONNECTIONS: usize = 8;

/// Timeout for opening a connection, and for a request. The result of a tool waits for it.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Time after which a request is not retried. A failover of a managed database takes longer; the caller then
/// continues without the request.
const PATIENCE: Duration = Duration::from_secs(10);

/// First pause before a retry, and the longest one.
const PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// A parameter of a statement with its type, so that the statement need not be prepared.
pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// The connections of this process.
pub(crate) struct Database {
    pool: Pool,
}

impl Database {
    /// Creates the pool of connections to the server of `config`. No connection is opened yet.
    pub(crate) fn new<T>(config: tokio_postgres::Config, tls: T) -> Result<Database, Failure>
    where
        T: MakeTlsConnect<Socket> + Clone + Sync + Send + 'static,
        T::Stream: Sync + Send,
        T::TlsConnect: Sync + Send,
        <T::TlsConnect as tokio_postgres::tls::TlsConnect<Socket>>::Future: Send,
    {
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let pool = Pool::builder(Manager::from_config(config, tls, recycling))
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(TIMEOUT))
            .create_timeout(Some(TIMEOUT))
            .build()
            .map_err(|error| Failure::Unreachable(error.to_string()))?;
        Ok(Database { pool })
    }

    /// A connection for one request.
    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        match self.pool.get().await {
            Ok(client) => Ok(Connection { client: Some(client) }),
            Err(PoolError::Backend(error)) => match error.code().map(|code| code.code()) {
                // A wrong password or database name is not retried.
                Some(code) if code.starts_with("28") || code.starts_with("3D") => {
                    Err(Failure::Refused(text_of(&error)))
                }
                _ => Err(Failure::Unreachable(text_of(&error))),
            },
            Err(PoolError::Timeout(_)) => {
                Err(Failure::Unreachable(format!("no connection within {} seconds", TIMEOUT.as_secs())))
            }
            Err(error) => Err(Failure::Unreachable(error.to_string())),
        }
    }

    /// The rows that a statement returns.
    pub(crate) async fn query(&self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, Failure> {
        let connection = self.connect().await?;
        let rows = connection.client()?.query_typed(sql, params).await?;
        connection.give_back();
        Ok(rows)
    }

    /// The row that a statement returns, if there is one.
    pub(crate) async fn query_opt(&self, sql: &str, params: &[Param<'_>]) -> Result<Option<Row>, Failure> {
        Ok(self.query(sql, params).await?.into_iter().next())
    }

    /// Number of rows that a statement changed.
    pub(crate) async fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<u64, Failure> {
        let connection = self.connect().await?;
        let changed = connection.client()?.execute_typed(sql, params).await?;
        connection.give_back();
        Ok(changed)
    }
}

/// A connection that is closed unless its request was answered: a late answer must not reach the next request.
pub(crate) struct Connection {
    client: Option<Client>,
}

impl Connection {
    pub(crate) fn client(&self) -> Result<&Client, Failure> {
        self.client.as_ref().ok_or_else(|| Failure::Broken("the connection was given back".to_owned()))
    }

    pub(crate) fn client_mut(&mut self) -> Result<&mut Client, Failure> {
        self.client.as_mut().ok_or_else(|| Failure::Broken("the connection was given back".to_owned()))
    }

    /// Returns the connection to the pool.
    pub(crate) fn give_back(mut self) {
        drop(self.client.take());
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            drop(Object::take(client));
        }
    }
}

/// Retries a request until it succeeds, fails permanently, or `PATIENCE` is over. `attempt` gets whether an earlier
/// attempt may have taken effect.
pub(crate) async fn retrying<T, F>(attempt: impl Fn(bool) -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    retrying_for(TIMEOUT, attempt).await
}

/// The same for a request that may take as long as `limit`.
pub(crate) async fn retrying_for<T, F>(limit: Duration, attempt: impl Fn(bool) -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let begun = Instant::now();
    let (mut may_have_landed, mut pause) = (false, PAUSE);
    loop {
        let failure = match tokio::time::timeout(limit, attempt(may_have_landed)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(failure)) => failure,
            Err(_) => Failure::timed_out(limit),
        };
        if !failure.is_transient() || begun.elapsed() >= PATIENCE {
            return Err(failure);
        }
        may_have_landed |= failure.may_have_landed();
        tokio::time::sleep(jittered(pause)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// A random pause between half of `pause` and all of it, so that conflicting requests do not collide again.
pub(crate) fn jittered(pause: Duration) -> Duration {
    let mut random = [0];
    // Without random bytes, the pause is not random.
    let _ = getrandom::fill(&mut random);
    pause / 2 + pause / 2 * u32::from(random[0]) / 255
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn run<T>(request: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(request)
    }

    #[test]
    fn only_failures_that_pass_are_tried_again_and_later_tries_know_of_a_broken_connection() {
        type Fails = fn(String) -> Failure;
        // failures of the first tries; tries; whether the last one knew that an earlier one may have landed
        let table: [(&[Fails], usize, bool, bool); 5] = [
            (&[], 1, false, true),
            (&[Failure::Conflict, Failure::Conflict], 3, false, true),
            (&[Failure::Unreachable], 2, false, true),
            (&[Failure::Broken, Failure::Conflict], 3, true, true),
            (&[Failure::Conflict, Failure::Refused], 2, false, false),
        ];
        for (failures, tries, knew, succeeds) in table {
            let (tried, told) = (Cell::new(0), Cell::new(false));
            let result = run(retrying(|may_have_landed| {
                let failure = failures.get(tried.get()).map(|fails| fails("text".to_owned()));
                tried.set(tried.get() + 1);
                told.set(may_have_landed);
                async move { failure.map_or(Ok(()), Err) }
            }));
            assert_eq!((tried.get(), told.get(), result.is_ok()), (tries, knew, succeeds), "{tries}");
        }
    }

    #[test]
    fn a_pause_is_at_least_half_as_long_as_it_may_be() {
        for _ in 0..100 {
            let pause = jittered(PAUSE);
            assert!((PAUSE / 2..=PAUSE).contains(&pause), "{pause:?}");
        }
    }
}
